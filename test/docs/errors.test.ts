import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { codeUnions } from '../../scripts/reference/code-catalogue.ts';
import { codeUnionsIn, membersOfUnion } from '../../scripts/reference/code-union.ts';
import { root } from './support/pages.ts';

/** Not codes of ours: the reasons of `metav1.Status` are Kubernetes' own. */
const notOurs = new Set(['StatusReason']);

describe('docs/reference/errors.md', () => {
  test('has every union of error codes and reasons in the source', async () => {
    const documented = new Set(codeUnions.map(({ source, name }) => `${source}: ${name}`));
    const missing: string[] = [];
    for await (const path of glob('{src,packages}/**/*.ts', { cwd: root })) {
      for (const name of codeUnionsIn(readFileSync(join(root, path), 'utf8'))) {
        if (!notOurs.has(name) && !documented.has(`${path}: ${name}`)) missing.push(`${path}: ${name}`);
      }
    }
    assert.deepEqual(missing, [], 'give it a section in scripts/reference/code-catalogue.ts');
  });

  test('describes no code that is gone', () => {
    for (const { source, name, descriptions = {} } of codeUnions) {
      const codes = membersOfUnion(readFileSync(join(root, source), 'utf8'), name).map(({ code }) => code);
      for (const code of Object.keys(descriptions)) assert.ok(codes.includes(code), `${name} ${code}`);
    }
  });
});

describe('the codes of a union', () => {
  const source =
    "/** Why. */\nexport type ShapeErrorCode =\n  /** Too\n   * round. */\n  | 'Round'\n  | 'Flat';\n";

  test('come with what their comments say', () => {
    assert.deepEqual(membersOfUnion(source, 'ShapeErrorCode'), [
      { code: 'Round', comment: 'Too round.' },
      { code: 'Flat', comment: '' },
    ]);
  });

  test('are found by the name of the union', () => {
    assert.deepEqual(codeUnionsIn(source), ['ShapeErrorCode']);
    assert.throws(
      () => membersOfUnion(source, 'ColourErrorCode'),
      /no union of strings named ColourErrorCode/,
    );
  });
});
