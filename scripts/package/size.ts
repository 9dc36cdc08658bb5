/** How large what is shipped is: `npm run size`. Each line: what, bytes, bytes gzipped. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { makePackage, root } from './make-package.ts';

const out = mkdtempSync(join(tmpdir(), 'size-'));
try {
  const { directory, tarball, manifest } = makePackage(out);
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
    print(`${name}, one module, ${bundled}`, Buffer.concat(outputFiles.map(({ contents }) => contents)));
  }
  execFileSync(process.execPath, [join(root, 'scripts/worker/build-worker.ts')], { cwd: root });
  for (const name of filesUnder(join(root, 'dist-worker')).filter((path) => path.endsWith('.js'))) {
    print(`./worker, ${name.slice(root.length + 1)}`, readFileSync(name));
  }
  const installed = filesUnder(directory).reduce((sum, path) => sum + statSync(path).size, 0);
  process.stdout.write(`the package, packed: ${statSync(tarball).size}; installed: ${installed}\n`);
} finally {
  rmSync(out, { recursive: true, force: true });
}

function print(what: string, content: Uint8Array): void {
  process.stdout.write(`${what}: ${content.length} bytes, ${gzipSync(content).length} gzipped\n`);
}

function filesUnder(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
