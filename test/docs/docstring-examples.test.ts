import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { format } from 'node:util';
import { entries, exportedFunctions, exportedNames, promisedOutput } from './support/docstring-examples.ts';
import { startSurroundings, surroundingNames } from './support/example-surroundings.ts';
import { readPage, root } from './support/pages.ts';

/** What a reader adds of other packages; the library's own names come from its entries. */
const otherImports: Readonly<Record<string, string>> = {
  Hono: 'hono',
  createServer: 'node:tls',
  once: 'node:events',
  join: 'node:path',
};
const functions = exportedFunctions(root);
const libraryPage = readPage('docs/reference/library.md');
/** What is compiled and run, by the names of its files. */
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
    const { stdout } = spawnSync(process.execPath, [compiler, '-p', folder], {
      cwd: folder,
      encoding: 'utf8',
    });
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
