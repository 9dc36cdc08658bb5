import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { assertionKeysFile, speaker } from '../../../test/support/assertions.ts';
import { type FlagChanges, ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';

const routerA = await speaker('cp-a');
const routerB = await speaker('cp-b', 'ES256');

let check: ServeOptionsCheck;
before(async () => {
  check = new ServeOptionsCheck(
    new Map([
      ...(await serveFiles()),
      ['edwards.json', JSON.stringify(routerA.privateJwk)],
      ['ecdsa.json', JSON.stringify(routerB.privateJwk)],
      ['public.json', JSON.stringify(routerA.publicJwk)],
      ['routers.json', assertionKeysFile([routerA, routerB])],
      ['unbound.json', JSON.stringify({ keys: [routerA.publicJwk] })],
    ]),
  );
});

const assertion: FlagChanges = {
  'peer-identity': ['assertion'],
  'assertion-signing-key': ['edwards.json'],
};
const withoutPair: FlagChanges = { 'proxy-client-cert-file': undefined, 'proxy-client-key-file': undefined };

describe('the identity flags of serve', () => {
  it('have everyone told by X-Remote headers and nobody believed when none is given', async () => {
    const { destinationIdentity } = await check.config();
    assert.deepEqual(destinationIdentity, {
      local: 'front-proxy',
      peer: 'front-proxy',
      signingKey: undefined,
      assertionIssuer: 'cp-a',
      assertionKeys: undefined,
    });
  });

  it('take a key to sign assertions with, under the server ID unless another name is given', async () => {
    const { destinationIdentity } = await check.config({ ...assertion, 'assertion-keys': ['routers.json'] });
    assert.equal(destinationIdentity.peer, 'assertion');
    assert.equal(destinationIdentity.local, 'front-proxy');
    assert.equal(destinationIdentity.assertionIssuer, 'cp-a');
    assert.equal(destinationIdentity.signingKey?.loaded.key.kid, routerA.kid);
    assert.deepEqual(
      [...(destinationIdentity.assertionKeys?.pinned.keys() ?? [])],
      [routerA.kid, routerB.kid],
    );
    const named = await check.config({ ...assertion, 'assertion-issuer': ['edge/eu'] });
    assert.equal(named.destinationIdentity.assertionIssuer, 'edge/eu');
  });

  it('need the front-proxy pair wherever somebody is told by X-Remote headers, and nowhere else', async () => {
    const pair = ['--proxy-client-cert-file', '--proxy-client-key-file'];
    assert.deepEqual(await check.issues({ ...assertion, ...withoutPair }), pair);
    assert.deepEqual(
      await check.issues({ ...assertion, ...withoutPair, 'local-identity': ['assertion'] }),
      [],
    );
  });

  for (const [what, changes, issues] of [
    ['a mode that there is not', { 'peer-identity': ['jwt'] }, ['--peer-identity']],
    ['assertions without a key', { 'peer-identity': ['assertion'] }, ['--assertion-signing-key']],
    [
      'a key file that is not there',
      { ...assertion, 'assertion-signing-key': ['missing.json'] },
      ['--assertion-signing-key'],
    ],
    [
      'the public half of a key',
      { ...assertion, 'assertion-signing-key': ['public.json'] },
      ['--assertion-signing-key'],
    ],
    [
      'an issuer that no log line can hold',
      { ...assertion, 'assertion-issuer': ['a b'] },
      ['--assertion-issuer'],
    ],
    ['public keys that are bound to nobody', { 'assertion-keys': ['unbound.json'] }, ['--assertion-keys']],
    [
      'a key that the other routers know as someone else’s',
      { ...assertion, 'assertion-keys': ['routers.json'], 'assertion-issuer': ['edge'] },
      ['--assertion-keys'],
    ],
    [
      'what no mode uses',
      {
        'assertion-signing-key': ['edwards.json'],
        'assertion-issuer': ['edge'],
      },
      ['--assertion-signing-key', '--assertion-issuer'],
    ],
    [
      'peers to be told while the gate is off',
      {
        ...assertion,
        'feature-gates': ['UnknownVersionInteroperabilityProxy=false'],
        'peer-ca-file': undefined,
        'local-server-ca-file': ['ca.crt'],
      },
      ['--peer-identity'],
    ],
  ] as const satisfies readonly (readonly [string, FlagChanges, readonly string[]])[]) {
    it(`refuse ${what}`, async () => {
      assert.deepEqual(await check.issues(changes), issues);
    });
  }

  it('repeat nothing of a secret file that they refuse', async () => {
    const messages = await check.messages({ ...assertion, 'assertion-signing-key': ['secret.key'] });
    assert.doesNotMatch(messages, /hunter2/);
  });
});
