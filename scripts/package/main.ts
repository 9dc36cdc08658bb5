/**
 * Makes the tarball that is published: `npm run package [-- DIRECTORY]`, default `dist-package`. With `--sbom cyclonedx` (or
 * `spdx`) it prints what the package consists of instead; with `--size` how large all that is shipped is.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: { sbom: { type: 'string' }, size: { type: 'boolean', default: false } },
  allowPositionals: true,
});
if (values.sbom !== undefined) {
  const { sbomOf } = await import('./sbom.ts');
  process.stdout.write(sbomOf(values.sbom));
} else if (values.size) {
  const { printSizes } = await import('./size.ts');
  await printSizes();
} else {
  const { makePackage } = await import('./make-package.ts');
  const out = resolve(positionals[0] ?? 'dist-package');
  mkdirSync(out, { recursive: true });
  rmSync(resolve(out, 'package'), { recursive: true, force: true });
  process.stdout.write(`${(await makePackage(out)).tarball}\n`);
}
