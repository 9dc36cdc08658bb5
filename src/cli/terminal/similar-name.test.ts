import assert from 'node:assert/strict';
import { it } from 'node:test';
import { similarName } from './similar-name.ts';

it('a name is suggested for a slip of the fingers, and none for another word', () => {
  const names = ['server-id', 'secure-port', 'snapshot-file', 'v'];
  assert.equal(similarName('sever-id', names), 'server-id');
  assert.equal(similarName('secure-prot', names), 'secure-port');
  assert.equal(similarName('snapshotfile', names), 'snapshot-file');
  assert.equal(similarName('frobnicate', names), undefined);
  assert.equal(similarName('', names), undefined);
});
