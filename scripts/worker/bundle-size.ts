import { gzipSync } from 'node:zlib';
import type { WorkerModule } from './bundle-worker.ts';

/**
 * What a start of the Worker may weigh: the entry with all that it imports statically. 80 KB and 31 KB
 * gzipped, taken strictly, as thousands of bytes (docs/decisions/0008-worker-modules.md).
 */
const limits = { bytes: 80_000, gzippedBytes: 31_000 };

export interface BundleSize {
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
