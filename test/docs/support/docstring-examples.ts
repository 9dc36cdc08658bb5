import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Sources of the package's entries that programs import from, by the name that they import. */
export const entries: Readonly<Record<string, string>> = {
  'mixed-version-proxy': 'src/index.ts',
  'mixed-version-proxy/node': 'src/node/index.ts',
  'mixed-version-proxy/sync': 'src/sync/node/index.ts',
};

/** A function that an entry exports. */
export interface ExportedFunction {
  readonly name: string;
  /** From the root of the checkout. */
  readonly file: string;
  /** What stands behind `@example` in its docstring; `undefined` without one. */
  readonly example: string | undefined;
}

interface ExportedName {
  readonly name: string;
  readonly entry: string;
  readonly file: string;
}

const exportStatement = /^export (?:\*|\{([^}]*)\}) from '([^']+)';/gms;

/** The values that an entry exports, under the names that they have where they are made. */
export function exportedNames(root: string, entry: string, file = entries[entry] ?? ''): ExportedName[] {
  const text = readFileSync(join(root, file), 'utf8').replaceAll(/\/\*.*?\*\//gs, '');
  return [...text.matchAll(exportStatement)].flatMap(([, names, from = '']) => {
    const source = join(dirname(file), from);
    if (names === undefined) return exportedNames(root, entry, source);
    return names
      .split(',')
      .map((name) => name.trim().replace(/ as \w+$/, ''))
      .filter((name) => name !== '' && !name.startsWith('type '))
      .map((name) => ({ name, entry, file: source }));
  });
}

/** Those of them that are functions, each once. */
export function exportedFunctions(root: string): ExportedFunction[] {
  const found = new Map<string, ExportedFunction>();
  for (const { name, file } of Object.keys(entries).flatMap((entry) => exportedNames(root, entry))) {
    const text = readFileSync(join(root, file), 'utf8');
    const declared = new RegExp(
      `(/\\*\\*(?:(?!\\*/).)*\\*/\\n)?export (?:(?:async )?function ${name}\\b|const ${name}\\b[^;]*?=>)`,
      's',
    ).exec(text);
    if (declared !== null) found.set(name, { name, file, example: exampleOf(declared[1] ?? '') });
  }
  return [...found.values()];
}

function exampleOf(docstring: string): string | undefined {
  const lines = docstring.split('\n').map((line) => line.replace(/^ \*(?: |$)/, ''));
  const [, code] = /^@example\n```ts\n(.*?)^```$/ms.exec(lines.join('\n')) ?? [];
  return code;
}

/** What the lines of an example say that they print: the comments behind `console.log(…)`. */
export function promisedOutput(example: string): string[] {
  return [...example.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, promised = '']) => promised);
}
