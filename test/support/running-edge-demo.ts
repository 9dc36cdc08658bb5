import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EdgeDemoOptions, type RunningEdgeDemo, runEdgeDemo } from '../../scripts/edge/run-edge-demo.ts';

export interface EdgeDemoUnderTest {
  readonly demo: RunningEdgeDemo;
  /** An empty directory for kubectl's caches and for files of the test. */
  readonly home: string;
  /** Where the demo keeps everything while it runs. */
  readonly directory: string;
  stop(): Promise<void>;
}

/** Starts what `npm run dev:edge` starts, in a directory of its own; resolves once it is ready. */
export async function startEdgeDemo(
  options: Pick<EdgeDemoOptions, 'runtime'> = {},
): Promise<EdgeDemoUnderTest> {
  const home = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-edge-demo-'));
  const directory = join(home, '.demo');
  const ending = new AbortController();
  const ready = Promise.withResolvers<RunningEdgeDemo>();
  const ended = runEdgeDemo({ ...options, directory, signal: ending.signal, onReady: ready.resolve });
  // A demo that cannot start rejects here, before it is ready.
  const demo = await Promise.race([
    ready.promise,
    ended.then(() => Promise.reject(new Error('the demo ended'))),
  ]);
  return {
    demo,
    home,
    directory,
    async stop() {
      ending.abort();
      await ended;
      await rm(home, { recursive: true, force: true });
    },
  };
}
