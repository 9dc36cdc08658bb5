import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { assertionKeysFile, speaker } from '../../../test/support/assertions.ts';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

const edgeA = await speaker('edge-a');
const edgeB = await speaker('edge-b', 'ES256');

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(
    new Map([
      ...(await serveFiles()),
      ['routers.json', assertionKeysFile([edgeA, edgeB])],
      ['unbound.json', JSON.stringify({ keys: [edgeA.publicJwk] })],
      ['private.json', JSON.stringify({ keys: [{ ...edgeA.privateJwk, issuer: 'edge-a' }] })],
    ]),
  );
});

describe('--assertion-keys', () => {
  it("is nobody's by default", async () => {
    assert.equal((await check.config()).assertionKeys, undefined);
  });

  it('takes the keys of several routers', async () => {
    const { assertionKeys } = await check.config({ 'assertion-keys': ['routers.json'] });
    assert.deepEqual([...(assertionKeys?.pinned.keys() ?? [])], [edgeA.kid, edgeB.kid]);
  });

  for (const [what, file] of [
    ['a file that is not there', 'missing.json'],
    ['keys that are bound to nobody', 'unbound.json'],
    ['a private key', 'private.json'],
  ] as const) {
    it(`refuses ${what}`, async () => {
      assert.deepEqual(await check.issues({ 'assertion-keys': [file] }), ['--assertion-keys']);
    });
  }

  it('repeats nothing of a secret file that it refuses', async () => {
    for (const file of ['secret.key', 'private.json']) {
      const messages = await check.messages({ 'assertion-keys': [file] });
      assert.ok(!messages.includes('hunter2') && !messages.includes(String(edgeA.privateJwk.d)));
    }
  });
});

it('needs the front-proxy pair, with which API servers are told', async () => {
  const issues = await check.issues({
    'assertion-keys': ['routers.json'],
    'proxy-client-cert-file': undefined,
    'proxy-client-key-file': undefined,
  });
  assert.deepEqual(issues, ['--proxy-client-cert-file', '--proxy-client-key-file']);
});
