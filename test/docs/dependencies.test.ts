import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './support/pages.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
type Manifest = Readonly<Record<string, Readonly<Record<string, string>>>>;
const workspaces = ['demo', 'packages/http2'];
/** The product's, those of its workspaces and that of the runtimes. */
const manifests = ['.', ...workspaces, 'scripts/runtimes'].map(
  (folder) => JSON.parse(read(`${folder}/package.json`)) as Manifest,
);
const fields = ['dependencies', 'devDependencies', 'optionalDependencies'];
/** Name and version of each dependency. */
const dependencies = manifests.flatMap((manifest) =>
  fields.flatMap((field) => Object.entries(manifest[field] ?? {})),
);

test('DEPENDENCIES.md says of every dependency what it is for, and of none that is gone', () => {
  const page = read('DEPENDENCIES.md');
  const names = dependencies.map(([name]) => name);
  const words = new Set(page.split(/[\s,|`]+/));
  assert.deepEqual(
    names.filter((name) => !words.has(name)),
    [],
  );
  const rows = [...page.matchAll(/^\| ([^|]+?) \|/gm)].flatMap(([, cell = '']) => cell.split(', '));
  assert.deepEqual(
    rows.filter(
      (cell) =>
        /^[@a-z]/.test(cell) &&
        !/^(?:package|development only|of the (?:demo|tests and the edge) alone .*)$/.test(cell) &&
        !names.includes(cell),
    ),
    [],
  );
});

test('every dependency is named with its exact version', () => {
  for (const [name, version] of dependencies) {
    assert.match(version, /^(?:npm:[@\w/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/, name);
  }
});

test('the workspaces and the product have one version of what both need', () => {
  const versions = Map.groupBy(dependencies, ([name]) => name);
  for (const [name, found] of versions) {
    assert.equal(new Set(found.map(([, version]) => version)).size, 1, name);
  }
});

for (const lockFile of ['package-lock.json', 'scripts/runtimes/package-lock.json']) {
  test(`${lockFile} names no registry, so that any will do`, () => {
    const lock = JSON.parse(read(lockFile)) as {
      packages: Readonly<Record<string, { readonly resolved?: string; readonly link?: boolean }>>;
    };
    for (const [path, { resolved, link }] of Object.entries(lock.packages)) {
      // npm finds a workspace by this path.
      if (link === true) assert.ok(workspaces.includes(resolved ?? ''), path);
      else assert.equal(resolved, undefined, path);
    }
  });
}

test('npm ci installs no runtime but Node: those of the tests are as large as half of the rest', () => {
  const lock = JSON.parse(read('package-lock.json')) as { packages: Readonly<Record<string, object>> };
  const runtimes = Object.keys(lock.packages).filter((path) => /workerd|miniflare|deno|\bbun\b/.test(path));
  assert.deepEqual(runtimes, []);
});
