/** The runtimes that `npm run check` has installed in this folder. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Miniflare, MiniflareOptions } from 'miniflare';
import type { TestHarness, TestHarnessOptions } from 'wrangler';

export type { Miniflare } from 'miniflare';
export type { TestHarness } from 'wrangler';

/** Miniflare's module is read by who starts it: it is large. */
export async function startMiniflare(options: object): Promise<Miniflare> {
  const { Miniflare: Runtime } = await import('miniflare');
  // The option types of this pre-release leave out forms that it takes.
  const running = new Runtime(options as MiniflareOptions);
  await running.ready;
  return running;
}

export async function createWranglerHarness(options: TestHarnessOptions): Promise<TestHarness> {
  const { createTestHarness } = await import('wrangler');
  return createTestHarness(options);
}

/** Path of a file of one of the packages; `undefined` where that is not installed, or not made for this machine. */
export function findRuntimeFile(file: string): string | undefined {
  const path = join(import.meta.dirname, 'node_modules', file);
  return existsSync(path) ? path : undefined;
}

/** @throws when it is not there */
export function runtimeFile(file: string): string {
  const path = findRuntimeFile(file);
  if (path === undefined) throw new Error(`${file} is not installed: npm run check`);
  return path;
}
