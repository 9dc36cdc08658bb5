import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** Modules of the product, tests left out, as paths from the root of the checkout. */
export function sourceFiles(): string[] {
  return globSync('{src,packages}/**/*.{ts,tsx}', { cwd: root }).filter(
    (file) => !/\.test\.tsx?$/.test(file) && !/^packages\/[^/]+\/test\//.test(file),
  );
}

/** Modules of what stands around the product, tests among them. */
export function surroundingFiles(): string[] {
  return globSync('{scripts,demo,examples,test,lab}/**/*.ts', {
    cwd: root,
    exclude: (path) => path.endsWith('node_modules'),
  });
}

const imports = /^(?:import|export)\b(?:[^';]*\bfrom)? '([^']+)'|\bimport\('([^']+)'\)/gm;

/** Imports of a module, types among them: packages by their name, files as paths from the root of the checkout. */
export function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(imports)].map(([, fixed, dynamic]) => {
    const specifier = fixed ?? dynamic ?? '';
    return specifier.startsWith('.') ? relative(root, join(root, file, '..', specifier)) : specifier;
  });
}
