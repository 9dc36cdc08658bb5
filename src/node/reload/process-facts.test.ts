import assert from 'node:assert/strict';
import { test } from 'node:test';

import { flagsInUse } from '../../cli/flags/serve-flags.ts';
import { processFacts } from './process-facts.ts';

const factsOf = (flags: Readonly<Record<string, string>>) =>
  processFacts({ commandLine: { version: 'v1.2.3', flags, found: [] } });

test('routers that are configured alike have the same hash, others another', () => {
  const hash = factsOf({ a: '1', b: '2' }).configHash;
  assert.match(hash, /^sha256:[0-9a-f]{64}$/);
  assert.equal(factsOf({ b: '2', a: '1' }).configHash, hash);
  assert.notEqual(factsOf({ a: '1', b: '3' }).configHash, hash);
});

test('a credential that stands in a flag is masked', () => {
  const { flags } = factsOf({ 'local-server': 'https://a/?token=hunter2', other: 'Bearer abc.def' });
  assert.equal(JSON.stringify(flags).includes('hunter2'), false);
  assert.equal(JSON.stringify(flags).includes('abc.def'), false);
});

test('flags in use are what was given, else the default, sorted', () => {
  const flags = flagsInUse({ 'server-id': ['a', 'b'], 'allowed-users': ['jane', 'joe,jim'] });
  assert.equal(flags['server-id'], 'b', 'the last one counts');
  assert.equal(flags['allowed-users'], 'jane,joe,jim');
  assert.equal(flags['secure-port'], '6443');
  assert.equal(flags['client-ca-file'], '');
  assert.deepEqual(Object.keys(flags), Object.keys(flags).sort());
});
