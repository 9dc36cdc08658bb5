import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BaseIssue, type BaseSchema, type InferOutput, parse } from 'valibot';

type Schema = BaseSchema<unknown, unknown, BaseIssue<unknown>>;

/** Where results are kept, in version control: `lab/bench/results/<name>.json`. */
function pathOf(name: string): string {
  return join(import.meta.dirname, '..', 'bench', 'results', `${name}.json`);
}

/** `undefined` where nothing has been recorded. @throws when the file holds something else. */
export async function readResults<Results extends Schema>(
  name: string,
  schema: Results,
): Promise<InferOutput<Results> | undefined> {
  const text = await readFile(pathOf(name), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : parse(schema, JSON.parse(text));
}

/** Checks and writes, whole or not at all. */
export async function writeResults<Results extends Schema>(
  name: string,
  schema: Results,
  results: InferOutput<Results>,
): Promise<void> {
  parse(schema, results);
  const path = pathOf(name);
  await writeFile(`${path}.new`, `${JSON.stringify(results, undefined, 2)}\n`);
  await rename(`${path}.new`, path);
}
