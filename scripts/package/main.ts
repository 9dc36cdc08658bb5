/** Makes the tarball that is published: `npm run package [-- DIRECTORY]`, default `dist-package`. */
import { mkdirSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { makePackage } from './make-package.ts';

const out = resolve(process.argv[2] ?? 'dist-package');
mkdirSync(out, { recursive: true });
rmSync(resolve(out, 'package'), { recursive: true, force: true });
process.stdout.write(`${(await makePackage(out)).tarball}\n`);
