/** Writes style and script of the status page into the module that serves them: `npm run build:dashboard`. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { clientAssetsModule, clientAssetsText } from './client-assets.ts';

await writeFile(resolve(import.meta.dirname, '..', '..', clientAssetsModule), await clientAssetsText());
process.stdout.write(`${clientAssetsModule}\n`);
