import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A new empty directory, removed with everything in it at the end of the test. */
export async function temporaryDirectory(context: Pick<TestContext, 'after'>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-test-'));
  context.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
