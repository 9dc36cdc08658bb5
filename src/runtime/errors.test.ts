import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorMessage } from './errors.ts';

test('nobody is told to have Node trust more authorities: which ones count is said by a flag', () => {
  const hint = '; if the root CA is installed locally, try running Node.js with --use-system-ca';
  const told = 'https://10.0.0.1:6443: unable to verify the first certificate';
  assert.equal(errorMessage(new Error(`${told}${hint}`)), told);
  assert.equal(errorMessage(new Error(`${told}${hint}. See --peer-ca-file`)), `${told}. See --peer-ca-file`);
});
