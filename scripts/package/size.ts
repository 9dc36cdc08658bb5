import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { entryOf } from '../worker/bundle-size.ts';
import { bundleWorker } from '../worker/bundle-worker.ts';
import { makePackage, root } from './make-package.ts';

/** How large what is shipped is. Each line: what, bytes, bytes gzipped. */
export async function printSizes(): Promise<void> {
  const out = mkdtempSync(join(tmpdir(), 'size-'));
  try {
    const { directory, tarball, manifest } = await makePackage(out);
    for (const [name, { default: path }] of Object.entries(manifest.exports)) {
      if (name === './worker') continue;
      const isPortable = name === '.' || name === './sync';
      const { outputFiles } = await build({
        entryPoints: [join(directory, path)],
        bundle: true,
        minify: true,
        write: false,
        format: 'esm',
        platform: isPortable ? 'neutral' : 'node',
        mainFields: ['module', 'main'],
        // The package's own dependencies, which are not installed beside it here.
        nodePaths: [join(root, 'node_modules')],
        ...(isPortable ? {} : { packages: 'external' as const }),
        logLevel: 'error',
      });
      const bundled = isPortable ? 'with its dependencies' : 'without its dependencies';
      print(`${name}, one module, ${bundled}`, ...outputFiles.map(({ contents }) => contents));
    }
    const modules = await bundleWorker();
    print('./worker, what a start loads', ...entryOf(modules).map(({ contents }) => contents));
    print('./worker, all modules', ...modules.map(({ contents }) => contents));
    const installed = filesUnder(directory).reduce((sum, path) => sum + statSync(path).size, 0);
    process.stdout.write(`the package, packed: ${statSync(tarball).size}; installed: ${installed}\n`);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

function print(what: string, ...parts: readonly (string | Uint8Array)[]): void {
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
  process.stdout.write(`${what}: ${bytes.length} bytes, ${gzipSync(bytes).length} gzipped\n`);
}

function filesUnder(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
