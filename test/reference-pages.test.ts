import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { referencePages } from '../scripts/reference/reference-pages.ts';

for (const { path, text } of referencePages) {
  test(`${path} says what the code says`, async () => {
    const written = await readFile(resolve(import.meta.dirname, '..', path), 'utf8');
    assert.equal(written, text(), `${path} is stale: npm run docs:reference`);
  });
}
