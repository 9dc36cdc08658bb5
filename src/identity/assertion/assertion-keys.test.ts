import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertionKeysFile, pinned, speaker } from '../../../test/support/assertions.ts';
import { parseAssertionKeys } from './assertion-keys.ts';

const routerA = await speaker('cp-a');
const routerB = await speaker('cp-b', 'ES256');

async function issues(keys: readonly unknown[]): Promise<string[]> {
  const result = await parseAssertionKeys(JSON.stringify({ keys }));
  assert.ok(!result.ok);
  return result.issues.map(({ path, message }) => `${path}: ${message}`);
}

test('each key speaks for the issuer beside it', async () => {
  const keys = await pinned(routerA, routerB);
  assert.equal(keys.get(routerA.kid)?.issuer, 'cp-a');
  assert.equal(keys.get(routerB.kid)?.issuer, 'cp-b');
});

test('an issuer may have two keys, for a rotation', async () => {
  const renewed = await speaker('cp-a');
  assert.equal((await pinned(routerA, renewed)).size, 2);
});

test('a key without an issuer, or with one that cannot be named in a log, is refused', async () => {
  for (const issuer of [undefined, '', 'cp a', 'cp-ä', 7, ['cp-a'], 'a'.repeat(513)]) {
    const [issue] = await issues([{ ...routerA.publicJwk, issuer }]);
    assert.match(issue ?? '', /^keys\[0\]\.issuer: must name the router/, String(issuer));
  }
});

test('one key cannot speak for two issuers under two kids', async () => {
  const twin = { ...routerA, issuer: 'cp-b', publicJwk: { ...routerA.publicJwk, kid: 'other' } };
  const result = await parseAssertionKeys(assertionKeysFile([routerA, twin]));
  assert.ok(!result.ok);
  assert.match(result.issues[0]?.message ?? '', /the same key again/);
});

test('what is wrong with the key itself is reported too, and a private key above all', async () => {
  const [issue] = await issues([{ ...routerA.privateJwk, issuer: 'cp-a' }]);
  assert.match(issue ?? '', /^keys\[0\]\.d: must not be here/);
});
