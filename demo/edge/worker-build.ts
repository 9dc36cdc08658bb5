import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DurableObjectClass } from './workerd-config.ts';

const root = join(import.meta.dirname, '..', '..');

/** The built Worker, and what `wrangler.toml` says of it: the one place where both are settled. */
export interface WorkerBuild {
  /** The main module first. */
  readonly modules: readonly { readonly name: string; readonly text: string }[];
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
  readonly durableObjects: readonly DurableObjectClass[];
}

const mainModule = 'index.js';

/** Classes that the Worker exports and is bound to. */
const durableObjects: readonly DurableObjectClass[] = [
  { name: 'SNAPSHOT_OBJECT', className: 'SnapshotObject' },
];

/**
 * Reads the built Worker.
 * @param directory where `npm run build -- --worker` has put it.
 * @throws when there is none.
 */
export async function readWorkerBuild(directory = join(root, 'dist-worker')): Promise<WorkerBuild> {
  const files = await readdir(directory, { recursive: true }).catch((): string[] => []);
  const names = files.filter((name) => name.endsWith('.js'));
  if (!names.includes(mainModule)) {
    throw new Error(`there is no built Worker in ${directory}: run 'npm run build -- --worker' first`);
  }
  const modules = await Promise.all(
    names.map(async (name) => ({ name, text: await readFile(join(directory, name), 'utf8') })),
  );
  return workerBuild(modules);
}

/** Builds the Worker from its sources, in memory: for whoever must not depend on what was built before. */
export async function bundleWorkerBuild(): Promise<WorkerBuild> {
  // Loaded here only: a router that is run from a finished build needs no bundler.
  const { bundleWorker } = await import('../../scripts/worker/bundle-worker.ts');
  const modules = await bundleWorker();
  const decoder = new TextDecoder();
  return workerBuild(modules.map(({ name, contents }) => ({ name, text: decoder.decode(contents) })));
}

async function workerBuild(modules: WorkerBuild['modules']): Promise<WorkerBuild> {
  const toml = await readFile(join(root, 'wrangler.toml'), 'utf8');
  const compatibilityDate = /^compatibility_date = "([^"]+)"/m.exec(toml)?.[1];
  if (compatibilityDate === undefined) throw new Error('wrangler.toml names no compatibility_date');
  const flags = /^compatibility_flags = \[([^\]]*)\]/m.exec(toml)?.[1] ?? '';
  return {
    modules: [
      ...modules.filter(({ name }) => name === mainModule),
      ...modules.filter(({ name }) => name !== mainModule),
    ],
    compatibilityDate,
    compatibilityFlags: [...flags.matchAll(/"([^"]+)"/g)].map(([, flag = '']) => flag),
    durableObjects,
  };
}
