import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import fc from 'fast-check';
import { base64url, CompactSign } from 'jose';
import {
  claims,
  jane,
  janesRequest,
  pinned,
  signClaims,
  signedAt,
  speaker,
} from '../../../test/support/assertions.ts';
import { inboundRequest, withCertificate } from '../../../test/support/routers/inbound-request.ts';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { ConnectionInfo, InboundRequest } from '../../request/inbound.ts';
import type { Logger } from '../../runtime/logger.ts';
import { openSnapshot } from '../../snapshot/signing/open-sealed.ts';
import { sealSnapshot } from '../../snapshot/signing/seal.ts';
import { askAuthenticators } from '../authenticator.ts';
import { RequestHeaderAuthenticator } from '../request-header.ts';
import { X509Authenticator } from '../x509.ts';
import type { AssertionKeySet } from './assertion-keys.ts';
import { createAssertionSigner } from './sign-assertion.ts';
import {
  type AssertionVerifierOptions,
  PeerAssertionAuthenticator,
  type PeerAssertionErrorCode,
  ReplayWindow,
} from './verify-assertion.ts';

test('a nonce is fresh once, until its deadline has come', () => {
  const window = new ReplayWindow(10);
  assert.equal(window.take('a', 100, 65), 'fresh');
  assert.equal(window.take('a', 100, 65), 'replayed');
  assert.equal(window.take('a', 100, 99), 'replayed');
  assert.equal(window.take('b', 100, 99), 'fresh');
  assert.equal(window.size, 2);
});

test('what has expired is forgotten, and stays refused when the clock is set back', () => {
  const window = new ReplayWindow(10);
  window.take('a', 100, 65);
  assert.equal(window.take('b', 135, 100), 'fresh');
  assert.equal(window.size, 1);
  assert.equal(window.take('a', 100, 65), 'replayed');
  assert.equal(window.size, 1);
});

test('a full window remembers nothing more and forgets nothing for it', () => {
  const window = new ReplayWindow(2);
  window.take('a', 100, 65);
  window.take('b', 101, 65);
  assert.equal(window.take('c', 100, 65), 'full');
  assert.equal(window.take('a', 100, 65), 'replayed');
  assert.equal(window.size, 2);
  assert.equal(window.take('c', 135, 100), 'fresh');
});

test('whatever comes, no nonce is fresh twice before its deadline and the size stays bounded', () => {
  const step = fc.record({
    nonce: fc.integer({ min: 0, max: 5 }).map(String),
    life: fc.integer({ min: 1, max: 65 }),
    passed: fc.integer({ min: -10, max: 20 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 8 }), (steps, capacity) => {
      const window = new ReplayWindow(capacity);
      const believed = new Set<string>();
      let now = 1_000;
      for (const { nonce, life, passed } of steps) {
        now += passed;
        // One bearer has one deadline, as one assertion has one `exp`.
        const bearer = `${nonce} ${now + life}`;
        if (window.take(nonce, now + life, now) === 'fresh') {
          assert.ok(!believed.has(bearer), `${bearer} was believed twice`);
          believed.add(bearer);
        }
        assert.ok(window.size <= capacity);
      }
    }),
  );
});

const routerA = await speaker('cp-a');
const routerC = await speaker('cp-c', 'ES256');
const stranger = await speaker('cp-a');
const keys = await pinned(routerA, routerC);

const verifier = (options: Partial<AssertionVerifierOptions> = {}): PeerAssertionAuthenticator =>
  new PeerAssertionAuthenticator({ keys: () => keys, audience: 'cp-b', clock: () => signedAt, ...options });

const signer = (key = routerA.key, issuer = 'cp-a') =>
  createAssertionSigner({ key, issuer, clock: () => signedAt });

async function refuses(
  code: PeerAssertionErrorCode,
  assertion: string,
  {
    request = janesRequest,
    ...options
  }: Partial<AssertionVerifierOptions> & { request?: typeof janesRequest } = {},
): Promise<Error> {
  let refusal: unknown;
  await assert.rejects(verifier(options).verify(assertion, request), (error) => {
    refusal = error;
    return true;
  });
  assert.ok(refusal instanceof Error && 'code' in refusal, String(refusal));
  assert.equal(refusal.code, code, refusal.message);
  return refusal;
}

describe('an assertion', () => {
  it('is believed once, with everything it says about the user', async () => {
    const text = await signer().sign(janesRequest);
    const believed = await verifier().verify(text, janesRequest);
    assert.deepEqual(believed, { user: jane, issuer: 'cp-a', kid: routerA.kid });
  });

  it('is believed in ES256 too', async () => {
    const text = await signer(routerC.key, 'cp-c').sign(janesRequest);
    assert.equal((await verifier().verify(text, janesRequest)).issuer, 'cp-c');
  });

  it('is believed with names that are members of every object', async () => {
    const extra = new Map(['__proto__', 'constructor', 'toString', '2', '1'].map((key) => [key, [key]]));
    const user = { ...jane, extra };
    const text = await signer().sign({ ...janesRequest, user });
    const believed = await verifier().verify(text, janesRequest);
    assert.deepEqual(new Map([...believed.user.extra].sort()), new Map([...extra].sort()));
  });

  it('is refused when another key signed it under the kid of a pinned one', async () => {
    const forged = await signClaims(claims(), stranger, { kid: routerA.kid });
    await refuses('BadSignature', forged);
  });

  it('is refused when its key is not pinned', async () => {
    await refuses('UnknownKey', await signClaims(claims(), stranger));
    await refuses('UnknownKey', await signClaims(claims(), routerA), { keys: () => new Map() });
  });

  it('is refused when its key speaks for another issuer', async () => {
    await refuses('WrongIssuer', await signClaims(claims({ iss: 'cp-a' }), routerC));
  });

  it('is refused by every other destination', async () => {
    const text = await signer().sign(janesRequest);
    await refuses('WrongAudience', text, { audience: 'cp-c' });
    await refuses('WrongAudience', text, { audience: 'cp-B' });
    await refuses('Malformed', await signClaims(claims({ aud: ['cp-b'] }), routerA));
  });

  it('is judged by the ID that the destination has at that moment', async () => {
    let audience = 'endpoint-10-0-0-1-6444';
    const renamed = new PeerAssertionAuthenticator({
      keys: () => keys,
      get audience() {
        return audience;
      },
      clock: () => signedAt,
    });
    const text = await signer().sign(janesRequest);
    await assert.rejects(renamed.verify(text, janesRequest), { code: 'WrongAudience' });
    audience = 'cp-b';
    assert.equal((await renamed.verify(text, janesRequest)).issuer, 'cp-a');
    audience = 'cp-c';
    const next = await signer().sign(janesRequest);
    await assert.rejects(renamed.verify(next, janesRequest), { code: 'WrongAudience' });
  });

  it('is refused for another method, path or query', async () => {
    const text = await signer().sign(janesRequest);
    for (const request of [
      { ...janesRequest, method: 'DELETE' },
      { ...janesRequest, method: 'get' },
      { ...janesRequest, target: '/api/v1/namespaces/kube-system/secrets' },
      { ...janesRequest, target: `${janesRequest.target}&watch=1` },
      { ...janesRequest, target: janesRequest.target.replace('default', 'defaul%74') },
    ]) {
      await refuses('RequestMismatch', text, { request });
    }
  });

  it('is refused when the reroute mark was taken off the request, or put on it', async () => {
    const marked = await signer().sign(janesRequest);
    await refuses('RequestMismatch', marked, { request: { ...janesRequest, rerouted: false } });
    const unmarked = await signer().sign({ ...janesRequest, rerouted: false });
    await refuses('RequestMismatch', unmarked);
  });

  it('is refused once it has expired, five seconds of clock difference granted', async () => {
    const text = await signer().sign(janesRequest);
    await refuses('Expired', text, { clock: () => signedAt + 35_000 });
    await verifier({ clock: () => signedAt + 34_999 }).verify(text, janesRequest);
  });

  it('is refused before its time, five seconds of clock difference granted', async () => {
    const text = await signer().sign(janesRequest);
    await refuses('NotYetValid', text, { clock: () => signedAt - 6_000 });
    await verifier({ clock: () => signedAt - 5_000 }).verify(text, janesRequest);
    await refuses('NotYetValid', await signClaims(claims({ nbf: signedAt / 1000 + 10 }), routerA));
  });

  it('is refused when it is valid for longer than a minute, however fresh', async () => {
    await refuses('LifetimeTooLong', await signClaims(claims({ exp: signedAt / 1000 + 61 }), routerA));
    await verifier().verify(await signClaims(claims({ exp: signedAt / 1000 + 60 }), routerA), janesRequest);
  });

  it('is refused without a signature, and with one by a shared secret', async () => {
    const header = base64url.encode(
      JSON.stringify({ alg: 'none', kid: routerA.kid, typ: 'mixed-version-proxy-identity+jwt' }),
    );
    const payload = base64url.encode(JSON.stringify(claims()));
    for (const unsigned of [
      `${header}.${payload}.`,
      `${header}.${payload}.AAAA`,
      `${header}.${payload}`,
      '',
      '..',
    ]) {
      await refuses('Malformed', unsigned);
    }
    // The public key as the secret of an HMAC: what a verifier that trusts the header's alg falls for.
    const secret = new TextEncoder().encode(JSON.stringify(routerA.publicJwk));
    const hmac = await new CompactSign(new TextEncoder().encode(JSON.stringify(claims())))
      .setProtectedHeader({ alg: 'HS256', kid: routerA.kid, typ: 'mixed-version-proxy-identity+jwt' })
      .sign(secret);
    await refuses('BadSignature', hmac);
  });

  it('is refused when a key that it brings along signed it', async () => {
    const forged = await signClaims(claims(), stranger, { kid: routerA.kid, jwk: stranger.publicJwk });
    await refuses('BadSignature', forged);
  });

  it('is refused when it is longer than any of ours, before anything is read from it', async () => {
    await refuses('Malformed', 'a'.repeat(60_001));
  });

  for (const [what, changes] of [
    ['without a nonce', { jti: undefined }],
    ['with a nonce that could be guessed', { jti: 'short' }],
    ['with a nonce too long to be remembered', { jti: 'A'.repeat(65) }],
    ['without a method', { method: undefined }],
    ['without a path', { path: undefined }],
    ['without the reroute claim', { rerouted: undefined }],
    ['without an end', { exp: undefined }],
    ['with an end that is no whole number', { exp: 1.5 }],
    ['with an end that is text', { exp: '99999999999' }],
    ['without a user', { user: undefined }],
    ['with an empty user name', { user: { name: '', uid: '', groups: [], extra: {} } }],
    ['with groups that are one text', { user: { name: 'jane', uid: '', groups: 'a,b', extra: {} } }],
    [
      'with an extra value that is no list',
      { user: { name: 'jane', uid: '', groups: [], extra: { a: 'b' } } },
    ],
    ['with a claim that nobody here understands', { scope: 'read-only' }],
  ] as const) {
    it(`is refused ${what}`, async () => {
      await refuses('Malformed', await signClaims(claims(changes), routerA));
    });
  }

  it('is refused when its payload is no JSON object', async () => {
    for (const payload of ['', 'null', '[]', '{', '[[[[[[[[]]]]]]]]']) {
      await refuses('Malformed', await signClaims(payload, routerA));
    }
  });
});

describe('a signed thing of another kind', () => {
  it('does not pass for an assertion: a snapshot, any other JWT', async () => {
    const [jws = ''] = (await sealSnapshot(snapshotOf({ a: ['v1/pods'] }), routerA.key)).split('\n');
    await refuses('BadSignature', jws);
    for (const typ of ['JWT', 'mixed-version-proxy-identity+JWT', undefined]) {
      await refuses('BadSignature', await signClaims(claims(), routerA, { typ }));
    }
  });

  it('is not what an assertion passes for: it is no snapshot', async () => {
    const text = await signer().sign(janesRequest);
    await assert.rejects(openSnapshot(text, keys), { code: 'BadSignature' });
  });
});

describe('a refusal', () => {
  it('says what class is wrong and repeats nothing of the assertion', async () => {
    const expected = await refuses('WrongAudience', await signClaims(claims({ aud: 'cp-secret' }), routerA));
    assert.equal(expected.message, 'the peer assertion is meant for another destination');
    const mismatch = await refuses('RequestMismatch', await signClaims(claims({ path: '/secret' }), routerA));
    assert.doesNotMatch(mismatch.message, /secret|jobs/);
  });
});

/** Signs Jane's request. */
async function signBy(by = routerA, now = signedAt): Promise<string> {
  const signer = createAssertionSigner({ key: by.key, issuer: by.issuer, clock: () => now });
  return signer.sign(janesRequest);
}

describe('a replayed assertion', () => {
  it('is refused the second time', async () => {
    const text = await signBy();
    const one = verifier();
    await one.verify(text, janesRequest);
    await assert.rejects(one.verify(text, janesRequest), { code: 'Replayed' });
  });

  it('is believed exactly once of a hundred times at once', async () => {
    const text = await signBy();
    const one = verifier();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, () => one.verify(text, janesRequest)),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'Replayed');
    }
  });

  it('is refused until the last second of its life', async () => {
    const text = await signBy();
    let now = signedAt;
    const one = verifier({ clock: () => now });
    await one.verify(text, janesRequest);
    now += 34_999;
    await assert.rejects(one.verify(text, janesRequest), { code: 'Replayed' });
    now += 1;
    await assert.rejects(one.verify(text, janesRequest), { code: 'Expired' });
    // Set back, the clock says that it is valid; its nonce is forgotten by then.
    await one.verify(await signBy(routerA, now), janesRequest);
    now = signedAt;
    await assert.rejects(one.verify(text, janesRequest), { code: 'Replayed' });
  });

  it('used up nothing while it was refused for something else', async () => {
    const text = await signBy();
    const one = verifier();
    await assert.rejects(one.verify(text, { ...janesRequest, method: 'PUT' }), { code: 'RequestMismatch' });
    await one.verify(text, janesRequest);
  });
});

describe('a flood of valid assertions', () => {
  it('is refused beyond the capacity, said so once, and stops nobody but its issuer', async () => {
    const errors: unknown[] = [];
    const logger: Logger = {
      debug() {},
      info() {},
      warn() {},
      error: (fields) => errors.push(fields),
    };
    let now = signedAt;
    const one = verifier({ replayCapacity: 3, logger, clock: () => now });
    const send = async (): Promise<unknown> => one.verify(await signBy(routerA, now), janesRequest);
    for (let sent = 0; sent < 3; sent++) await send();
    await assert.rejects(send(), { code: 'ReplayWindowFull' });
    await assert.rejects(send(), { code: 'ReplayWindowFull' });
    assert.deepEqual(errors, [{ issuer: 'cp-a', remembered: 3 }]);
    await one.verify(await signBy(routerC), janesRequest);
    now += 35_000;
    await send();
  });
});

describe('a rotation', () => {
  it('has two keys of one issuer valid, and then only the new one', async () => {
    const renewed = await speaker('cp-a', 'ES256');
    let current: AssertionKeySet = await pinned(routerA, renewed);
    const one = verifier({ keys: () => current });
    assert.equal((await one.verify(await signBy(), janesRequest)).kid, routerA.kid);
    assert.equal((await one.verify(await signBy(renewed), janesRequest)).kid, renewed.kid);
    current = await pinned(renewed);
    assert.equal((await one.verify(await signBy(renewed), janesRequest)).kid, renewed.kid);
    await assert.rejects(one.verify(await signBy(), janesRequest), { code: 'UnknownKey' });
  });
});

const newAuthenticator = (): PeerAssertionAuthenticator =>
  new PeerAssertionAuthenticator({ keys: () => keys, audience: 'cp-b', clock: () => signedAt });

const header = 'Mixed-Version-Proxy-Identity';
const mark = ['x-kubernetes-peer-proxied', 'true'];

const inbound = (headers: RawHeaders, connection?: ConnectionInfo): InboundRequest => ({
  ...inboundRequest([...headers, ...mark], connection),
  target: janesRequest.target,
});

test('the caller is whom the assertion names, and the word of its sender counts as a peer’s', async () => {
  assert.deepEqual(
    await newAuthenticator().authenticate(inbound([header, await signer().sign(janesRequest)])),
    {
      kind: 'authenticated',
      user: jane,
      authenticator: 'peer-assertion',
      viaVerifiedPeer: true,
    },
  );
});

test('a request without an assertion is nothing to have an opinion on', () => {
  assert.equal(newAuthenticator().authenticate(inbound(['X-Remote-User', 'admin'])), undefined);
  assert.equal(newAuthenticator().authenticate(inbound(['Mixed_Version_Proxy_Identity', 'x'])), undefined);
});

test('two assertions are refused, the same one twice and one that is empty included', async () => {
  const one = await signer().sign(janesRequest);
  for (const [first, second] of [
    [one, await signer().sign(janesRequest)],
    [one, one],
    [one, ''],
    ['', one],
  ] as const) {
    assert.throws(
      () => newAuthenticator().authenticate(inbound([header, first, header.toLowerCase(), second])),
      { code: 'Malformed' },
    );
  }
  // Joined into one line, as web Headers do it.
  await assert.rejects(async () => newAuthenticator().authenticate(inbound([header, `${one}, ${one}`])), {
    code: 'Malformed',
  });
});

test('X-Remote headers beside an assertion mean nothing', async () => {
  const headers = [
    header,
    await signer().sign(janesRequest),
    'X-Remote-User',
    'admin',
    'X-Remote-Group',
    'system:masters',
  ];
  const requestHeader = new RequestHeaderAuthenticator({ allowedNames: ['front-proxy-client'] });
  const caller = await askAuthenticators(inbound(headers), [requestHeader, newAuthenticator()]);
  assert.ok(caller.kind === 'authenticated');
  assert.deepEqual(caller.user, jane);
});

test('a refused assertion ends the request, whoever else the request or its connection could speak for', async () => {
  const authenticators = [newAuthenticator(), new X509Authenticator()];
  const edge = withCertificate('client-ca', 'edge', ['system:masters']);
  const headers = [header, 'forged', 'Authorization', 'Bearer opaque'];
  await assert.rejects(async () => askAuthenticators(inbound(headers, edge), authenticators), {
    code: 'Malformed',
  });
  await assert.rejects(async () => askAuthenticators(inbound(headers), authenticators), {
    code: 'Malformed',
  });
});

test('an assertion goes before the certificate of the connection that carries it', async () => {
  const edge = withCertificate('client-ca', 'edge', ['system:masters']);
  const caller = await askAuthenticators(inbound([header, await signer().sign(janesRequest)], edge), [
    newAuthenticator(),
    new X509Authenticator(),
  ]);
  assert.ok(caller.kind === 'authenticated');
  assert.equal(caller.user.name, 'jane@example.com');
});

test('a name that no header line can carry is refused, however well it is signed', async () => {
  for (const name of ['jane\r\nX-Remote-Group: system:masters', 'jane\0', ' jane', 'jane\ud800']) {
    const text = await signer().sign({ ...janesRequest, user: { ...jane, name } });
    await assert.rejects(async () => askAuthenticators(inbound([header, text]), [newAuthenticator()]), {
      name: 'AuthenticationError',
    });
  }
});
