import assert from 'node:assert/strict';
import { existsSync, globSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { readPage, readPages, root } from './support/pages.ts';

const isElsewhere = /^(https?:|mailto:)/;

test('every relative link, image and anchor of the pages leads somewhere', async () => {
  const broken = (await readPages()).flatMap(({ path, links }) =>
    links
      .filter(({ target }) => !isElsewhere.test(target))
      .flatMap(({ line, target }) => {
        const fault = faultOf(path, target);
        return fault === undefined ? [] : [`${path}:${line}: ${target}: ${fault}`];
      }),
  );
  assert.deepEqual(broken, []);
});

test('every test that the threat model names is there', async () => {
  const files = globSync('{src,packages,test}/**/*.ts', { cwd: root });
  const named = (await readFile(join(root, 'SECURITY.md'), 'utf8')).match(/(?<=`)[^` ]+\.ts(?=`)/g) ?? [];
  assert.ok(named.length > 40);
  const path = (name: string) => name.replace(/^\.\.\//, 'test/').replaceAll('*', '[^/]*');
  assert.deepEqual(
    named.filter((name) => !files.some((file) => new RegExp(`(^|/)${path(name)}$`).test(file))),
    [],
  );
});

test('every page is reached from the README', async () => {
  const pages = new Map((await readPages()).map((page) => [page.path, page]));
  const reached = new Set(['README.md']);
  for (const path of reached) {
    for (const { target } of pages.get(path)?.links ?? []) {
      const [file = ''] = target.split('#');
      if (isElsewhere.test(target) || file === '') continue;
      const linked = normalize(join(dirname(path), file));
      if (pages.has(linked)) reached.add(linked);
      // A directory shows its pages.
      for (const each of pages.keys()) if (dirname(each) === linked.replace(/\/$/, '')) reached.add(each);
    }
  }
  assert.deepEqual(
    [...pages.keys()].filter((path) => !reached.has(path)),
    [],
  );
});

function faultOf(from: string, target: string): string | undefined {
  const [file = '', anchor] = target.split('#');
  const path = file === '' ? from : normalize(join(dirname(from), file));
  if (path.startsWith('..')) return 'leaves the repository';
  if (!existsSync(join(root, path))) return 'there is no such file';
  if (anchor === undefined) return undefined;
  if (!path.endsWith('.md') || statSync(join(root, path)).isDirectory()) return 'only pages have anchors';
  return readPage(path).anchors.has(anchor) ? undefined : `${path} has no such heading`;
}
