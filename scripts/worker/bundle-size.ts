import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { replaceBetweenMarkers } from '../generate/markers.ts';
import { bundleWorker, type WorkerModule } from './bundle-worker.ts';

interface BundleSize {
  readonly bytes: number;
  /** Bytes of all modules in one compressed stream, as an upload compresses them. */
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

/** Occasions on which clients make an isolate load modules, one after the other. */
interface Occasion {
  readonly name: string;
  /** Source files that are imported for it. */
  readonly sources: readonly string[];
  /** Bytes that may be loaded by then, with all before: as many as when this was written, and 2 % more. */
  readonly limits?: BundleSize;
}

const occasions: readonly Occasion[] = [
  { name: 'a start', sources: ['src/edge/worker/index.ts'], limits: { bytes: 3_000, gzippedBytes: 1_600 } },
  {
    name: 'and the first request',
    sources: ['src/edge/worker/worker-app.ts'],
    limits: { bytes: 142_000, gzippedBytes: 52_200 },
  },
  {
    name: 'and its key, where it signs assertions',
    sources: ['src/edge/configuration/read-assertions.ts'],
  },
  {
    name: 'and its caller, where one is known by a certificate or token',
    sources: ['src/edge/identity/callers.ts'],
  },
  {
    name: "and kubectl's first command, which asks for discovery",
    sources: ['src/proxy/merged-document.ts'],
  },
];

/** Modules that an isolate has loaded after each occasion. */
export function loadedSoFar(
  modules: readonly WorkerModule[],
): ReadonlyMap<Occasion, readonly WorkerModule[]> {
  const loaded = new Set<WorkerModule>();
  return new Map(
    occasions.map((occasion) => {
      const { sources } = occasion;
      const pending = modules.filter(({ inputs }) => sources.some((source) => inputs.has(source)));
      if (pending.length < sources.length) throw new Error(`no module has ${sources.join(', ')}`);
      for (let module = pending.pop(); module !== undefined; module = pending.pop()) {
        if (loaded.has(module)) continue;
        loaded.add(module);
        const { imports } = module;
        pending.push(...modules.filter(({ name }) => imports.includes(name)));
      }
      return [occasion, [...loaded]];
    }),
  );
}

/** src/edge/README.md with its table of sizes: thousands of bytes. */
export async function edgePage(): Promise<string> {
  const page = await readFile(new URL('../../src/edge/README.md', import.meta.url), 'utf8');
  const rows = [...loadedSoFar(await bundleWorker())].map(([{ name }, loaded]) => {
    const { bytes, gzippedBytes } = sizeOf(loaded);
    return `| ${name} | ${Math.round(bytes / 1000)} KB | ${Math.round(gzippedBytes / 1000)} KB |`;
  });
  return replaceBetweenMarkers(
    page,
    'sizes',
    ['| after | minified | gzipped |', '|---|---|---|', ...rows].join('\n'),
  );
}

/** Where more is loaded than the limits say. */
export function sizeFaults(modules: readonly WorkerModule[]): string[] {
  return [...loadedSoFar(modules)].flatMap(([{ name, limits }, loaded]) => {
    const { bytes, gzippedBytes } = sizeOf(loaded);
    if (limits === undefined || (bytes <= limits.bytes && gzippedBytes <= limits.gzippedBytes)) return [];
    const allowed = `${limits.bytes} and ${limits.gzippedBytes} gzipped`;
    return [`a Worker loads ${bytes} bytes, ${gzippedBytes} gzipped, after ${name}: more than ${allowed}`];
  });
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
