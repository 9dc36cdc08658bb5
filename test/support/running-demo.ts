import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DemoOptions, type RunningDemo, runDemo } from '../../scripts/demo/run-demo.ts';

export interface DemoUnderTest {
  readonly demo: RunningDemo;
  /** An empty directory for kubectl's caches and for files of the test. */
  readonly home: string;
  stop(): Promise<void>;
}

/** Starts the demo in a directory of its own; resolves once it is ready. */
export async function startDemo(options: Pick<DemoOptions, 'routerFlags'> = {}): Promise<DemoUnderTest> {
  const home = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-demo-'));
  const ending = new AbortController();
  const ready = Promise.withResolvers<RunningDemo>();
  const ended = runDemo({
    ...options,
    directory: join(home, '.demo'),
    signal: ending.signal,
    onReady: ready.resolve,
  });
  // A demo that cannot start rejects here, before it is ready.
  const demo = await Promise.race([
    ready.promise,
    ended.then(() => Promise.reject(new Error('the demo ended'))),
  ]);
  return {
    demo,
    home,
    async stop() {
      ending.abort();
      await ended;
      await rm(home, { recursive: true, force: true });
    },
  };
}
