import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NonceClaims } from './nonce-claims.ts';

test('a nonce counts once for its issuer, until its assertion has expired', () => {
  let now = 1_000_000;
  const claims = new NonceClaims(() => now);
  const deadline = 1_030;
  assert.equal(claims.take('edge', 'a', deadline), 'fresh');
  assert.equal(claims.take('edge', 'a', deadline), 'replayed');
  assert.equal(claims.take('other', 'a', deadline), 'fresh', "issuers do not stand in each other's way");
  now = deadline * 1_000;
  assert.equal(
    claims.take('edge', 'b', deadline),
    'replayed',
    'what may be forgotten is not believed any more',
  );
});
