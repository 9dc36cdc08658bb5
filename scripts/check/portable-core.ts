/**
 * Holds the core to web standards: no module outside the folders that may do so imports anything of Node, and
 * the bundles for other runtimes hold nothing of it either. Exits 1 and names every fault.
 */
import { join } from 'node:path';
import { build } from 'esbuild';
import { importsOf, sourceFiles } from './imports.ts';

const root = join(import.meta.dirname, '..', '..');

/**
 * Folders that may import Node's modules, and the packages that need them (CONTRIBUTING.md, "Folders").
 */
const runtimeFolders = ['packages/http2/', 'src/node/', 'src/cli/', 'src/sync/node/'];
/** Packages that the portable core may import besides its own files. */
const portablePackages = /^(hono|jose|valibot)(\/|$)/;
/** Names that betray a runtime in a bundle; `process` and `Buffer` as globals, not as parts of words. */
const runtimeNames = [
  /["']node:/,
  /\brequire\(/,
  /\bprocess\.(env|nextTick|version)/,
  /\bBuffer\.(from|alloc)/,
];

const faults = [
  ...faultyImports(),
  ...(await faultyBundle('src/index.ts')),
  ...(await faultyBundle('src/edge/worker/index.ts')),
  ...(await faultyBundle('src/edge/index.ts')),
];
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
console.log('portable core: no import and no name of a runtime');

function faultyImports(): string[] {
  const found: string[] = [];
  for (const file of sourceFiles()) {
    if (runtimeFolders.some((folder) => file.startsWith(folder))) continue;
    for (const imported of importsOf(file)) {
      const fault = importFault(file, imported);
      if (fault !== undefined) found.push(`${file}: imports ${imported}: ${fault}`);
    }
  }
  return found;
}

function importFault(file: string, imported: string): string | undefined {
  if (runtimeFolders.some((folder) => imported.startsWith(folder))) return 'that folder belongs to Node';
  if (imported.startsWith('src/') || portablePackages.test(imported)) return undefined;
  if (imported.startsWith('cloudflare:') && file.startsWith('src/edge/')) return undefined;
  return 'the core may import hono, jose and valibot only';
}

async function faultyBundle(entry: string): Promise<string[]> {
  const result = await build({
    entryPoints: [join(root, entry)],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*'],
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const text = result.outputFiles[0]?.text ?? '';
  const packages = new Set(
    Object.keys(result.metafile.inputs).flatMap(
      (input) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? [],
    ),
  );
  return [
    ...[...packages]
      .filter((name) => !portablePackages.test(name))
      .map((name) => `${entry}: the bundle holds the package ${name}`),
    ...runtimeNames.filter((name) => name.test(text)).map((name) => `${entry}: the bundle matches ${name}`),
  ];
}
