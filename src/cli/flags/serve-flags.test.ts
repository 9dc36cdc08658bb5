import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flagsInUse } from './serve-flags.ts';

test('flags in use are what was given, else the default, sorted', () => {
  const flags = flagsInUse({
    'server-id': ['a', 'b'],
    'requestheader-allowed-names': ['front-proxy-client', 'other,third'],
  });
  assert.equal(flags['server-id'], 'b', 'the last one counts');
  assert.equal(flags['requestheader-allowed-names'], 'front-proxy-client,other,third');
  assert.equal(flags['secure-port'], '6443');
  assert.equal(flags['client-ca-file'], '');
  assert.deepEqual(Object.keys(flags), Object.keys(flags).sort());
});
