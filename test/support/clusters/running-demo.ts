import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DemoServer } from '../../../demo/cluster.ts';
import { type RunningEdgeDemo, runEdgeDemo } from '../../../demo/edge/run-edge-demo.ts';
import { type DemoOptions, type RunningDemo, runDemo } from '../../../demo/run-demo.ts';

export interface DemoUnderTest<Demo = RunningDemo> {
  readonly demo: Demo;
  /** An empty directory for kubectl's caches and for files of the test. */
  readonly home: string;
  /** Where the demo keeps everything while it runs. */
  readonly directory: string;
  stop(): Promise<void>;
}

export type EdgeDemoUnderTest = DemoUnderTest<RunningEdgeDemo>;

/** Versions far apart: there is more that differs than between neighbours. */
const servers: readonly DemoServer[] = [
  { name: 'v1.25', version: '1.25' },
  { name: 'v1.26', version: '1.26' },
  { name: 'v1.36', version: '1.36' },
];

/** Starts the demo in a directory of its own, with other versions than it has; resolves once it is ready. */
export function startDemo(options: Partial<DemoOptions> = {}): Promise<DemoUnderTest> {
  return start<RunningDemo>((given) => runDemo({ servers, ...options, ...given }));
}

/** Starts what `npm start -- edge` starts, likewise. */
export function startEdgeDemo(): Promise<EdgeDemoUnderTest> {
  return start<RunningEdgeDemo>((given) => runEdgeDemo({ servers, ...given }));
}

async function start<Demo>(
  run: (options: {
    readonly directory: string;
    readonly signal: AbortSignal;
    readonly onReady: (demo: Demo) => void;
  }) => Promise<void>,
): Promise<DemoUnderTest<Demo>> {
  const home = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-demo-'));
  const directory = join(home, '.demo');
  const ending = new AbortController();
  const ready = Promise.withResolvers<Demo>();
  const ended = run({ directory, signal: ending.signal, onReady: ready.resolve });
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
