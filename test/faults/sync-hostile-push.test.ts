import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Agent, request } from 'undici';
import { createEmbeddedCluster, type EmbeddedCluster } from '../../scripts/measure/embedded-cluster.ts';
import { type OwnPathsClient, ownPathsClient } from '../../scripts/measure/own-paths-client.ts';
import { canonicalJson } from '../../src/runtime/canonical-json.ts';
import type { Snapshot } from '../../src/snapshot/format/schema.ts';
import { sealedSnapshotType } from '../../src/snapshot/signing/open-sealed.ts';
import {
  generateSigningKey,
  type SigningKey,
  sealSnapshot,
  signingKeyOf,
  signPayload,
} from '../../src/snapshot/signing/seal.ts';
import { snapshotOf } from '../support/snapshot-builder.ts';

// What a sync job that was taken over, or has gone mad, may push: validly signed, over the router's real endpoint.
// The router says why it refuses, and goes on with what it had.

let cluster: EmbeddedCluster;
let client: OwnPathsClient;
let agent: Agent;
let origin = '';
let key: SigningKey;
/** What the router holds, and must still hold after each push. */
const generation = 1000;

before(async () => {
  cluster = await createEmbeddedCluster();
  const server = await cluster.startServer({ version: '1.26', name: 'server' });
  // Without the demo's leave to reach peers on loopback.
  ({ origin } = await cluster.startRouter(server, { 'allow-loopback-peers': undefined }));
  client = ownPathsClient(origin, cluster.credentials);
  key = signingKeyOf(cluster.credentials.signingKey);
  const { certificateAuthorities, clientCertificate } = cluster.credentials;
  const { certificate, key: privateKey } = clientCertificate;
  agent = new Agent({ connect: { ca: certificateAuthorities, cert: certificate, key: privateKey } });
  const { status, body } = await push(await sealSnapshot(good(generation), key));
  assert.equal(status, 200, body);
});

after(async () => {
  await agent.destroy();
  await client.close();
  await cluster.close();
});

function good(generation: number): Snapshot {
  return snapshotOf({ a: ['v1/pods'], b: ['v1/pods', 'example.com/v1/widgets'] }, { generation });
}

async function push(jws: string, dispatcher = agent): Promise<{ status: number; body: string }> {
  const { statusCode, body } = await request(`${origin}/.mixed-version-proxy/v1/snapshot`, {
    dispatcher,
    method: 'PUT',
    headers: { 'content-type': 'application/jose' },
    body: jws,
  });
  return { status: statusCode, body: await body.text() };
}

/** Signs whatever it is given, as no honest sync job would. */
function sign(payload: string): Promise<string> {
  return signPayload(payload, sealedSnapshotType, key);
}

function changed(change: (snapshot: Record<string, unknown>) => void): Promise<string> {
  const snapshot = structuredClone<Record<string, unknown>>({ ...good(generation + 1) });
  change(snapshot);
  return sign(canonicalJson(snapshot));
}

function withAddress(address: string): Promise<string> {
  return sign(
    canonicalJson(snapshotOf({ b: { serves: ['v1/pods'], address } }, { generation: generation + 1 })),
  );
}

const hostile: readonly (readonly [
  name: string,
  jws: () => Promise<string>,
  code: number,
  reason: RegExp,
])[] = [
  [
    '10 MB',
    () => changed((snapshot) => Object.assign(snapshot, { note: 'x'.repeat(10_000_000) })),
    413,
    /more than \d+ bytes/,
  ],
  [
    '9 MB, within the limit of a sealed one',
    () => sign(JSON.stringify({ note: 'x'.repeat(8 * 1024 * 1024 + 1) })),
    422,
    /is larger than 8388608 bytes/,
  ],
  [
    '10,000 levels',
    () => sign(`{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`),
    422,
    /nested deeper than/,
  ],
  [
    'a __proto__ key',
    async () => sign(canonicalJson(good(generation + 1)).replace('{', '{"__proto__":{"polluted":true},')),
    422,
    /__proto__.*must not be used as a name/,
  ],
  [
    'two servers with one ID',
    () =>
      changed((snapshot) =>
        Object.assign(snapshot, { servers: [servers(snapshot)[0], servers(snapshot)[0]] }),
      ),
    422,
    /must be unique/,
  ],
  ['a loopback address', () => withAddress('127.0.0.1:6443'), 422, /servers\[0\]\.address/],
  ['a link-local address', () => withAddress('169.254.1.1:6443'), 422, /servers\[0\]\.address/],
  [
    "a cloud's metadata address",
    () => withAddress('169.254.169.254:80'),
    422,
    /servers\[0\]\.address.*metadata/,
  ],
  ['an address of IPv6 loopback', () => withAddress('[::1]:6443'), 422, /servers\[0\]\.address/],
  [
    'another key',
    async () =>
      sealSnapshot(good(generation + 1), signingKeyOf((await generateSigningKey('EdDSA')).privateJwk)),
    401,
    /not pinned/,
  ],
  ['no signature', async () => JSON.stringify(good(generation + 1)), 401, /not signed/],
  [
    'a lower generation',
    () => sealSnapshot(good(generation - 1), key),
    409,
    /is older than the one that is held/,
  ],
  [
    'the same generation with other content',
    () => sealSnapshot(snapshotOf({ c: ['v1/pods'] }, { generation }), key),
    409,
    /is held with other content/,
  ],
];

function servers(snapshot: Record<string, unknown>): unknown[] {
  assert.ok(Array.isArray(snapshot['servers']));
  return snapshot['servers'];
}

for (const [name, jws, code, reason] of hostile) {
  test(`a pushed snapshot with ${name} is refused with ${code} and its reason, and nothing has changed`, async () => {
    const { status, body } = await push(await jws());
    assert.equal(status, code, body);
    assert.match(body, reason);
    assert.ok(body.length < 100_000, 'what is refused is not repeated');
    const held = await client.status();
    assert.equal(held.snapshot?.generation, generation);
    assert.deepEqual(
      held.servers.map(({ id }) => id),
      ['a', 'b'],
    );
    assert.equal('polluted' in {}, false);
  });
}

test('a stranger may push nothing', async () => {
  const stranger = new Agent({ connect: { ca: cluster.credentials.certificateAuthorities } });
  try {
    assert.equal((await push(await sealSnapshot(good(generation + 1), key), stranger)).status, 403);
  } finally {
    await stranger.destroy();
  }
  assert.equal((await client.status()).snapshot?.generation, generation);
});
