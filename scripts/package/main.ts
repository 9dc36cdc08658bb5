/** Makes the tarballs that are published, the product's and the demo's: `npm run package [-- DIRECTORY]`, default `dist-package`. */
import { mkdirSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { makeDemoPackage, makePackage } from './make-package.ts';

const out = resolve(process.argv[2] ?? 'dist-package');
mkdirSync(out, { recursive: true });
for (const name of ['package', 'demo']) rmSync(resolve(out, name), { recursive: true, force: true });
process.stdout.write(`${makePackage(out).tarball}\n${makeDemoPackage(out)}\n`);
