import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';

/** A file in version control that is made from code, or (lab/bench/report) from recorded figures. */
export interface GeneratedFile {
  /** From the root of the repository. */
  readonly path: string;
  /** The whole text as it has to be, but for the form that `npm run fix` gives to JSON. */
  readonly text: () => string | Promise<string>;
}

export async function writeGenerated(files: readonly GeneratedFile[]): Promise<void> {
  for (const { path, text } of files) {
    await writeFile(resolve(import.meta.dirname, '../..', path), await text());
    console.log(path);
  }
}
