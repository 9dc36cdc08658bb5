import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { replaceBetweenMarkers } from '../report/markers.ts';
import { bundleWorker, type WorkerModule } from './bundle-worker.ts';

/**
 * What a start of the Worker may weigh: the entry with all that it imports statically. 88 KB and 33.5 KB
 * gzipped, taken strictly, as thousands of bytes (docs/decisions/0008-worker-modules.md).
 */
const limits = { bytes: 95_000, gzippedBytes: 36_000 };

interface BundleSize {
  readonly bytes: number;
  /** Of all modules in one stream, as an upload compresses them. */
  readonly gzippedBytes: number;
}

function sizeOf(modules: readonly WorkerModule[]): BundleSize {
  const contents = Buffer.concat(modules.map((module) => module.contents));
  return { bytes: contents.byteLength, gzippedBytes: gzipSync(contents, { level: 9 }).byteLength };
}

/** The modules that a start loads. */
export function entryOf(modules: readonly WorkerModule[]): readonly WorkerModule[] {
  return modules.filter(({ loadedWithEntry }) => loadedWithEntry);
}

/** What clients make an isolate load, one after the other: by the source files that are imported for it. */
const occasions = {
  'a start': ['src/edge/worker/index.ts'],
  'and the first request': ['src/edge/worker/prepare.ts'],
  'and its caller, where one is known by a certificate, token or assertion': ['src/edge/identity/callers.ts'],
  "and kubectl's first command, which asks for discovery": ['src/proxy/merged-document.ts'],
} as const;

/** What an isolate has loaded after each occasion, with all before it. */
function loadedSoFar(modules: readonly WorkerModule[]): ReadonlyMap<string, BundleSize> {
  const loaded = new Set<WorkerModule>();
  const sizes = new Map<string, BundleSize>();
  for (const [occasion, sources] of Object.entries(occasions)) {
    const pending = modules.filter(({ inputs }) => sources.some((source) => inputs.has(source)));
    if (pending.length < sources.length) throw new Error(`no module has ${sources.join(', ')}`);
    for (let module = pending.pop(); module !== undefined; module = pending.pop()) {
      if (loaded.has(module)) continue;
      loaded.add(module);
      const { imports } = module;
      pending.push(...modules.filter(({ name }) => imports.includes(name)));
    }
    sizes.set(occasion, sizeOf([...loaded]));
  }
  return sizes;
}

/** docs/guides/edge.md with its table of sizes: thousands of bytes. */
export async function edgePage(): Promise<string> {
  const page = await readFile(new URL('../../docs/guides/edge.md', import.meta.url), 'utf8');
  const rows = [...loadedSoFar(await bundleWorker())].map(
    ([occasion, { bytes, gzippedBytes }]) =>
      `| ${occasion} | ${Math.round(bytes / 1000)} KB | ${Math.round(gzippedBytes / 1000)} KB |`,
  );
  return replaceBetweenMarkers(
    page,
    'sizes',
    ['| after | minified | gzipped |', '|---|---|---|', ...rows].join('\n'),
  );
}

export function sizeFaults(modules: readonly WorkerModule[]): string[] {
  const { bytes, gzippedBytes } = sizeOf(entryOf(modules));
  return [
    ...(bytes > limits.bytes ? [`the Worker's entry has ${bytes} bytes, more than ${limits.bytes}`] : []),
    ...(gzippedBytes > limits.gzippedBytes
      ? [`the Worker's entry has ${gzippedBytes} bytes gzipped, more than ${limits.gzippedBytes}`]
      : []),
  ];
}

export function sizeTable(modules: readonly WorkerModule[]): string {
  const rows = modules.map(({ name, loadedWithEntry, bytes, gzippedBytes }) =>
    row(`${loadedWithEntry ? 'entry' : 'later'}  ${name}`, { bytes, gzippedBytes }),
  );
  return [...rows, row('the entry', sizeOf(entryOf(modules))), row('everything', sizeOf(modules))].join('\n');
}

function row(name: string, { bytes, gzippedBytes }: BundleSize): string {
  return `${name.padEnd(52)} ${String(bytes).padStart(8)} ${String(gzippedBytes).padStart(8)} gzipped`;
}
