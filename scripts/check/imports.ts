import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** Modules of src, tests left out, as paths from the root of the checkout. */
export function sourceFiles(): string[] {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((file) => join('src', file))
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file));
}

const imports = /^(?:import|export)\b(?:[^';]*\bfrom)? '([^']+)'|\bimport\('([^']+)'\)/gm;

/** What a module imports, types among it: packages by their name, files as paths from the root of the checkout. */
export function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(imports)].map(([, fixed, dynamic]) => {
    const specifier = fixed ?? dynamic ?? '';
    return specifier.startsWith('.') ? relative(root, join(root, file, '..', specifier)) : specifier;
  });
}
