import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { base64url, CompactSign, compactVerify, exportSPKI, importJWK } from 'jose';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { SnapshotError, type SnapshotErrorCode } from '../format/snapshot-error.ts';
import { type PinnedKeySet, parseSnapshotKeys } from './keys.ts';
import { openSnapshot, sealedSnapshotType } from './open-sealed.ts';
import {
  generateSigningKey,
  loadSigningKey,
  sealChecked,
  sealSnapshot,
  signingKeyOf,
  signPayload,
} from './seal.ts';

const edwards = await generateSigningKey('EdDSA');
const ecdsa = await generateSigningKey('ES256');
const stranger = await generateSigningKey('EdDSA');
const keys = await pinned(edwards.publicJwk, ecdsa.publicJwk);
const signingKey = signingKeyOf(edwards.privateJwk);
const snapshot = snapshotOf({ a: ['v1/pods'], b: ['v1/pods', 'batch/v1/jobs'] });
const sealed = await sealSnapshot(snapshot, signingKey);
const [sealedHead = '', sets = ''] = sealed.split('\n');
const [header = '', payload = '', signature = ''] = sealedHead.split('.');

async function pinned(...jwks: object[]): Promise<PinnedKeySet> {
  const result = await parseSnapshotKeys(JSON.stringify({ keys: jwks }));
  assert.ok(result.ok);
  return result.keys;
}

function refusedAs(code: SnapshotErrorCode, message: RegExp = /./) {
  return (error: unknown) => {
    assert.ok(error instanceof SnapshotError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  };
}

function encoded(value: unknown): string {
  return base64url.encode(JSON.stringify(value));
}

test('what is sealed with either algorithm opens as it was', async () => {
  for (const { kid, privateJwk } of [edwards, ecdsa]) {
    const key = signingKeyOf(privateJwk);
    const opened = await openSnapshot(await sealSnapshot(snapshot, key), keys);
    assert.deepEqual(opened.snapshot, snapshot);
    assert.equal(opened.kid, kid);
    assert.equal(opened.digest, (await sealChecked(snapshot, key)).digest);
  }
});

test('the digest is that of all that is signed but the time of making', async () => {
  const digestOf = (changes: object, servers = snapshot.servers) =>
    sealChecked({ ...snapshot, servers, metadata: { ...snapshot.metadata, ...changes } }, signingKey).then(
      ({ digest }) => digest,
    );
  const own = await digestOf({});
  assert.equal(await digestOf({ createdAt: '2031-01-01T00:00:00Z' }), own);
  assert.notEqual(await digestOf({ generation: 9 }), own);
  assert.notEqual(
    await digestOf({ cluster: '"createdAt":"x"' }),
    await digestOf({ cluster: '"createdAt":"y"' }),
  );
  assert.notEqual(await digestOf({}, snapshot.servers.slice(0, 1)), own);
});

test('a sealed snapshot is a compact JWS for every other library, and its sets', async () => {
  const { payload } = await compactVerify(sealedHead, await importJWK(edwards.publicJwk, 'EdDSA'));
  const { servedSets, ...head } = snapshot;
  assert.deepEqual(JSON.parse(new TextDecoder().decode(payload)), head);
  assert.deepEqual(Object.keys(JSON.parse(sets)), Object.keys(servedSets));
});

test('a compact JWS that holds the sets itself is taken, too', async () => {
  const jws = await signPayload(JSON.stringify(snapshot), sealedSnapshotType, signingKey);
  assert.deepEqual((await openSnapshot(jws, keys)).snapshot, snapshot);
});

test('a CryptoKey signs as its JWK does', async () => {
  const privateKey = await importJWK(edwards.privateJwk, 'EdDSA');
  assert.ok(!(privateKey instanceof Uint8Array));
  const jws = await sealSnapshot(snapshot, { kid: edwards.kid, alg: 'EdDSA', privateKey });
  assert.equal(jws, sealed);
});

test('any snapshot survives sealing and opening', async () => {
  const path = fc.constantFrom('v1/pods', 'v1/pods/log', 'batch/v1/jobs', 'apps/v1/deployments/scale');
  const servers = fc.dictionary(fc.stringMatching(/^[a-z]([a-z0-9-]{0,8}[a-z0-9])?$/), fc.uniqueArray(path), {
    minKeys: 1,
    maxKeys: 5,
  });
  const generation = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
  await fc.assert(
    fc.asyncProperty(servers, generation, async (given, number) => {
      const original = snapshotOf(given, { generation: number });
      const opened = await openSnapshot(await sealSnapshot(original, signingKey), keys);
      assert.deepEqual(opened.snapshot, original);
    }),
    { numRuns: 50 },
  );
});

test('what no receiver would take is not sealed', async () => {
  const [first] = snapshot.servers;
  assert.ok(first);
  await assert.rejects(
    sealSnapshot({ ...snapshot, servers: [first, first] }, signingKey),
    refusedAs('Invalid', /servers\[1\]\.id: must be unique/),
  );
});

for (const [name, jws] of [
  ['plain JSON', JSON.stringify(snapshot)],
  ['nothing', ''],
  ['a stripped signature', `${header}.${payload}.`],
  ['a stripped signature and dot', `${header}.${payload}`],
  ['no payload', `${header}..${signature}`],
  ['a fourth part', `${sealedHead}.x\n${sets}`],
  ['only dots', '.'.repeat(1_000_000)],
  ['a header that is no JSON', `eA.${payload}.${signature}`],
  [
    'alg none',
    `${encoded({ alg: 'none', kid: edwards.kid, typ: sealedSnapshotType })}.${payload}.${signature}`,
  ],
  [
    'alg None',
    `${encoded({ alg: 'None', kid: edwards.kid, typ: sealedSnapshotType })}.${payload}.${signature}`,
  ],
  ['no alg', `${encoded({ kid: edwards.kid, typ: sealedSnapshotType })}.${payload}.${signature}`],
  [
    'an alg that is a number',
    `${encoded({ alg: 1, kid: edwards.kid, typ: sealedSnapshotType })}.${payload}.${signature}`,
  ],
  ['a JWS in JSON', JSON.stringify({ protected: header, payload, signature })],
] as const) {
  test(`unsigned: ${name}`, async () => {
    await assert.rejects(openSnapshot(jws, keys), refusedAs('Unsigned'));
  });
}

test('a signature by a key that is not pinned is refused, whatever its kid says', async () => {
  const other = signingKeyOf(stranger.privateJwk);
  await assert.rejects(openSnapshot(await sealSnapshot(snapshot, other), keys), refusedAs('UnknownKey'));
  const disguised = await sealSnapshot(snapshot, { ...other, kid: edwards.kid });
  await assert.rejects(openSnapshot(disguised, keys), refusedAs('BadSignature'));
});

test('a key that the header brings along is not looked at', async () => {
  const jws = await new CompactSign(new TextEncoder().encode(JSON.stringify(snapshot)))
    .setProtectedHeader({ alg: 'EdDSA', typ: sealedSnapshotType, jwk: stranger.publicJwk })
    .sign(stranger.privateJwk);
  await assert.rejects(openSnapshot(jws, keys), refusedAs('UnknownKey'));
});

for (const kid of [undefined, 7, '', '__proto__', 'constructor']) {
  test(`a kid that names no key is refused: ${String(kid)}`, async () => {
    const jws = `${encoded({ alg: 'EdDSA', kid, typ: sealedSnapshotType })}.${payload}.${signature}`;
    await assert.rejects(openSnapshot(jws, keys), refusedAs('UnknownKey'));
  });
}

test('a changed payload, header or signature is refused', async () => {
  const otherPayload = base64url.encode(JSON.stringify({ ...snapshot, kind: 'Other' }));
  const flipped = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
  for (const jws of [
    `${header}.${otherPayload}.${signature}`,
    `${header}.${payload}.${flipped}`,
    `${header}.${payload}.${signature.slice(0, 20)}`,
    `${header}.${payload}.!`,
    `${encoded({ typ: sealedSnapshotType, kid: edwards.kid, alg: 'EdDSA' })}.${payload}.${signature}`,
  ]) {
    await assert.rejects(openSnapshot(jws, keys), refusedAs('BadSignature'));
  }
});

test('HS256 with the public key as its secret is refused', async () => {
  const publicKey = await importJWK(edwards.publicJwk, 'EdDSA');
  assert.ok(publicKey instanceof CryptoKey);
  for (const secret of [await exportSPKI(publicKey), edwards.publicJwk.x ?? '']) {
    const jws = await new CompactSign(new TextEncoder().encode(JSON.stringify(snapshot)))
      .setProtectedHeader({ alg: 'HS256', kid: edwards.kid, typ: sealedSnapshotType })
      .sign(new TextEncoder().encode(secret));
    await assert.rejects(openSnapshot(jws, keys), refusedAs('BadSignature', /pinned for, EdDSA/));
  }
});

test('an algorithm that is accepted, but not for this key, is refused', async () => {
  const jws = await sealSnapshot(snapshot, { ...signingKeyOf(ecdsa.privateJwk), kid: edwards.kid });
  await assert.rejects(openSnapshot(jws, keys), refusedAs('BadSignature', /another algorithm/));
});

test('a crit header is refused, even where it names what the library understands', async () => {
  const jws = await new CompactSign(new TextEncoder().encode(JSON.stringify(snapshot)))
    .setProtectedHeader({ alg: 'EdDSA', kid: edwards.kid, typ: sealedSnapshotType, crit: ['b64'], b64: true })
    .sign(edwards.privateJwk);
  await assert.rejects(openSnapshot(jws, keys), refusedAs('BadSignature', /crit/));
});

test('another thing that the same key has signed does not pass for a snapshot', async () => {
  for (const typ of ['JWT', '']) {
    const jws = await signPayload(JSON.stringify(snapshot), typ, signingKey);
    await assert.rejects(openSnapshot(jws, keys), refusedAs('BadSignature', /typ/));
  }
});

test('size is looked at before anything else', async () => {
  await assert.rejects(openSnapshot('x'.repeat(12_000_000), keys), refusedAs('TooLarge'));
});

test('signed content with errors is refused with every error', async () => {
  for (const [text, path] of [
    ['not JSON', ''],
    [`{"a":${'['.repeat(10_000)}`, ''],
    ['{"__proto__":{"polluted":true}}', '__proto__'],
    [JSON.stringify({ ...snapshot, servers: [{}] }), 'servers[0].id'],
  ] as const) {
    const jws = await signPayload(text, sealedSnapshotType, signingKey);
    await assert.rejects(openSnapshot(jws, keys), (error: SnapshotError) => {
      assert.equal(error.code, 'Invalid');
      return error.issues.some((issue) => issue.path === path);
    });
  }
});

test('signed bytes that are no UTF-8 are refused', async () => {
  const jws = await new CompactSign(new Uint8Array([0x22, 0xff, 0x22]))
    .setProtectedHeader({ alg: 'EdDSA', kid: edwards.kid, typ: sealedSnapshotType })
    .sign(edwards.privateJwk);
  await assert.rejects(openSnapshot(jws, keys), refusedAs('Invalid', /UTF-8/));
});

test('opening text that nobody has signed ends in one of the known refusals', async () => {
  const part = fc.oneof(fc.string(), fc.constantFrom(header, payload, signature), fc.base64String());
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 5 }), async (parts) => {
      const jws = parts.join('.');
      if (jws === sealed) return;
      await assert.rejects(openSnapshot(jws, keys), (error) => error instanceof SnapshotError);
    }),
  );
});

test('a loaded key signs', async () => {
  for (const { privateJwk, publicJwk } of [edwards, ecdsa]) {
    const key = await loadSigningKey(JSON.stringify(privateJwk));
    const jws = await signPayload('hello', 'test', key);
    const { payload } = await compactVerify(jws, await importJWK(publicJwk));
    assert.equal(new TextDecoder().decode(payload), 'hello');
  }
});

for (const [what, jwk, issue] of [
  ['a public key', edwards.publicJwk, /public half/],
  ['a key without a kid', { ...edwards.privateJwk, kid: undefined }, /kid/],
  ['a key of another kind', { kty: 'oct', k: 'c2VjcmV0', kid: 'x', alg: 'HS256' }, /algs EdDSA, ES256/],
  ['a key whose alg is not its own', { ...edwards.privateJwk, alg: 'ES256' }, /unusable: keys\[0\]\.alg/],
  ['halves of two keys', { ...ecdsa.privateJwk, d: edwards.privateJwk.d }, /does not fit/],
  [
    'halves of two Edwards keys',
    { ...edwards.privateJwk, x: (await generateSigningKey('EdDSA')).publicJwk.x },
    /does not fit/,
  ],
  ['a private half that is no number', { ...ecdsa.privateJwk, d: 'secret!' }, /does not fit/],
] as const) {
  test(`${what} is refused, and nothing of it is repeated`, async () => {
    await assert.rejects(loadSigningKey(JSON.stringify(jwk)), (error) => {
      assert.ok(error instanceof TypeError);
      assert.match(error.message, issue);
      assert.doesNotMatch(error.message, /secret!|c2VjcmV0/);
      return true;
    });
  });
}

test('text that is no JWK is refused without being repeated', async () => {
  for (const text of ['hunter2', '[]', 'null', '{"d":']) {
    await assert.rejects(loadSigningKey(text), {
      name: 'TypeError',
      message: 'The signing key must be a JWK, as JSON.',
    });
  }
});
