import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const source = join(import.meta.dirname, '..', '..', '..', 'src');

/**
 * Loads what the program loads when it is first needed: within a run that would be an event of the disk. Commands other than
 * `serve` never run here.
 */
export async function preload(): Promise<void> {
  const files = globSync(
    '{apimachinery,discovery,node,own-paths,proxy,request,routing,runtime,snapshot,sync}/**/*.ts',
    {
      cwd: source,
    },
  );
  for (const file of [...files, 'app.ts', 'own-app.ts']) {
    if (file.endsWith('.test.ts')) continue;
    const text = readFileSync(join(source, file), 'utf8');
    for (const [, path = ''] of text.matchAll(/\bimport\('(\.[^']+)'\)/g))
      await import(pathToFileURL(join(source, dirname(file), path)).href);
    for (const [, name = ''] of text.matchAll(/\bimport\('(node:[^']+)'\)/g)) await import(name);
  }
}
