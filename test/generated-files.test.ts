import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { generatedFiles } from '../scripts/generate/generated-files.ts';

for (const { path, text } of generatedFiles) {
  test(`${path} is what its sources make`, async () => {
    const [written, made] = [await readFile(resolve(import.meta.dirname, '..', path), 'utf8'), await text()];
    const message = `${path} is stale: npm run generate`;
    if (path.endsWith('.json')) assert.deepEqual(JSON.parse(written), JSON.parse(made), message);
    else assert.equal(written, made, message);
  });
}
