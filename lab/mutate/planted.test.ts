import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { http2Faults } from './http2-faults.ts';
import { mutants } from './mutants.ts';
import { searchedFaults } from './searched-faults.ts';

test('every fault can be planted: what it replaces is in its file once', () => {
  const root = join(import.meta.dirname, '../..');
  for (const { name, file, from } of [...mutants, ...http2Faults, ...searchedFaults]) {
    assert.equal(readFileSync(join(root, file), 'utf8').split(from).length, 2, name);
  }
});
