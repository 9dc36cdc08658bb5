import { after } from 'node:test';
import { type DemoUnderTest, startDemo } from '../support/running-demo.ts';

let shared: Promise<DemoUnderTest> | undefined;

/**
 * One demo for all suites of this process that leave the cluster as it is, but for objects with names of their own.
 * It ends behind the last of them.
 */
export function sharedDemo(): Promise<DemoUnderTest> {
  shared ??= startDemo();
  return shared;
}

after(async () => {
  await (await shared)?.stop();
});
