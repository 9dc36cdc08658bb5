import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { format } from 'node:util';
import { startSurroundings, surroundingNames } from './support/example-surroundings.ts';
import { readPage, root } from './support/pages.ts';

/** Sources of the package's entries that programs import from, by the name that they import. */
const entries: Readonly<Record<string, string>> = {
  'mixed-version-proxy': 'src/index.ts',
  'mixed-version-proxy/node': 'src/node/index.ts',
  'mixed-version-proxy/sync': 'src/sync/node/index.ts',
};

/** A function that an entry exports. */
interface ExportedFunction {
  readonly name: string;
  /** From the root of the checkout. */
  readonly file: string;
  /** The example behind `@example` in its docstring; `undefined` without one. */
  readonly example: string | undefined;
}

interface ExportedName {
  readonly name: string;
  readonly entry: string;
  readonly file: string;
}

const exportStatement = /^export (?:\*|\{([^}]*)\}) from '([^']+)';/gms;

/** The values that an entry exports, under the names that they have where they are made. */
function exportedNames(root: string, entry: string, file = entries[entry] ?? ''): ExportedName[] {
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

/** The exported names that are functions, each once. */
function exportedFunctions(root: string): ExportedFunction[] {
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

/** Output that the lines of an example promise: the comments behind `console.log(…)`. */
function promisedOutput(example: string): string[] {
  return [...example.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, promised = '']) => promised);
}

/** Imports of other packages that a reader adds; the library's own names come from its entries. */
const otherImports: Readonly<Record<string, string>> = {
  Hono: 'hono',
  createServer: 'node:tls',
  once: 'node:events',
  join: 'node:path',
};
const functions = exportedFunctions(root);
const libraryPage = readPage('src/README.md');
/** Programs that are compiled and run, by the names of their files. */
const programs = new Map([
  ...functions.flatMap(({ name, example }) => (example === undefined ? [] : [[name, example] as const])),
  ...libraryPage.blocks
    .filter(({ language }) => language === 'ts')
    .map(({ line, lines }) => [`library.md-${line}`, `${lines.join('\n')}\n`] as const),
]);

describe('the examples of docstrings and of the library page', () => {
  let folder: string;
  let stop: () => Promise<void>;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'examples-'));
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    for (const [name, code] of programs) await writeFile(join(folder, `${name}.ts`), program(code));
    stop = await startSurroundings();
  });
  after(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('every exported function has one', () => {
    assert.ok(functions.length > 30);
    assert.deepEqual(
      functions.filter(({ example }) => example === undefined).map(({ name, file }) => `${file}: ${name}`),
      [],
    );
  });

  test('each calls the function that it is of', () => {
    for (const { name, example = '' } of functions) assert.match(example, new RegExp(`\\b${name}\\b`));
  });

  test('they are type-checked as they stand', async () => {
    const options = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { noUnusedLocals: false, rewriteRelativeImportExtensions: false },
    };
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ ...options, include: ['*.ts'], exclude: [] }),
    );
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    // The compiler's memory of the library's own sources: they are not checked again.
    const memory = join(root, 'node_modules/.cache/tsc/docstring-examples.tsbuildinfo');
    const { stdout } = spawnSync(
      process.execPath,
      [compiler, '-p', folder, '--incremental', '--tsBuildInfoFile', memory],
      { cwd: folder, encoding: 'utf8' },
    );
    assert.equal(stdout, '');
  });

  for (const [name, code] of programs) {
    test(`${name} runs, and prints what its comments say`, async (context) => {
      const printed: string[] = [];
      context.mock.method(console, 'log', (...values: unknown[]) => printed.push(format(...values)));
      await import(pathToFileURL(join(folder, `${name}.ts`)).href);
      assert.deepEqual(printed, promisedOutput(code));
    });
  }
});

/** The module that an example is, with the imports and the surroundings that it leaves to the reader. */
function program(code: string): string {
  const own = new Set([
    ...[...code.matchAll(/^import \{([^}]*)\}/gm)].flatMap(([, names = '']) => names.match(/\w+/g) ?? []),
    ...[...code.matchAll(/\b(?:const|class|function) (\w+|\{[^}]*\})/g)].flatMap(
      ([, names = '']) => names.match(/\w+(?=\s*[,}]|$)/g) ?? [],
    ),
  ]);
  const used = new Set((code.match(/\b[A-Za-z]\w*/g) ?? []).filter((name) => !own.has(name)));
  const library = new Map(
    Object.keys(entries).flatMap((entry) =>
      exportedNames(root, entry).map(({ name }) => [name, join(root, entries[entry] ?? '')] as const),
    ),
  );
  const imports = [...used].flatMap((name) => {
    const from = library.get(name) ?? otherImports[name];
    return from === undefined ? [] : [`import { ${name} } from '${from}';`];
  });
  const taken = surroundingNames.filter((name) => used.has(name));
  return [
    ...imports,
    `import { surroundings } from '${join(import.meta.dirname, 'support/example-surroundings.ts')}';`,
    `const { ${taken.join(', ')} } = surroundings();`,
    code.replaceAll(
      /from '(mixed-version-proxy[^']*)'/g,
      (_, entry) => `from '${join(root, entries[entry] ?? '')}'`,
    ),
  ].join('\n');
}
