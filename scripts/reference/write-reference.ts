/** Writes the pages of docs/ that are made from the code: `npm run docs:reference`. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { referencePages } from './reference-pages.ts';

for (const { path, text } of referencePages) {
  await writeFile(resolve(import.meta.dirname, '..', '..', path), text());
  process.stdout.write(`${path}\n`);
}
