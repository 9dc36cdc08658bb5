import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompactSign } from 'jose';
import { sealedSnapshotType } from '../../src/snapshot/signing/open-sealed.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../src/snapshot/signing/seal.ts';
import { eventually } from '../support/eventually.ts';
import { ask } from '../support/security/ask.ts';
import { heldMemory, inMegabytes } from '../support/security/memory.ts';
import { rawHttp1 } from '../support/security/raw-http1.ts';
import {
  clusterSnapshot,
  pushText,
  type RouterUnderTest,
  snapshotKey,
  startRouterUnderTest,
  targets,
} from '../support/security/router-under-test.ts';
import { keepSecret } from '../support/security/secrets.ts';

const unknown = await generateSigningKey('EdDSA');
keepSecret(String(unknown.privateJwk.d));

/** Routed by generation 5 as before: the peer is asked for jobs, and the snapshot that is shown is that one. */
async function assertUnchanged(router: RouterUnderTest): Promise<void> {
  router.peer.clear();
  assert.equal((await ask(router.port, { path: targets.peer })).status, 200);
  assert.equal(router.peer.only().target, targets.peer);
  const shown = await ask(router.port, { client: 'admin', path: '/.mixed-version-proxy/v1/snapshot' });
  assert.equal(JSON.parse(shown.body).metadata.generation, 5);
}

function signed(payload: string, header: object = {}): Promise<string> {
  return new CompactSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ alg: snapshotKey.alg, kid: snapshotKey.kid, typ: sealedSnapshotType, ...header })
    .sign(snapshotKey.privateKey);
}

/** What a refusal says, where the code does not. */
const reasons: Readonly<Record<string, RegExp>> = {
  'no JWS': /not signed/,
  'a key that is not pinned': /not pinned/,
  'an older generation, validly signed': /is older than the one that is held/,
  'the same generation with other content': /is held with other content/,
  '9 MB, within the limit of what is sealed': /is larger than 8388608 bytes/,
  'two servers with one ID': /must be unique/,
  '10,000 levels': /nested deeper than/,
  'a server at a metadata address': /servers\[1\]\.address.*metadata/,
};

test('S20: whatever is pushed and not right is refused with its reason, and the router keeps what it had', async (context) => {
  const router = await startRouterUnderTest(context, {
    snapshot: (backends) => clusterSnapshot(backends, { generation: 5 }),
  });
  const next = clusterSnapshot(router, { generation: 6 });
  const good = await sealSnapshot(next, snapshotKey);
  const [head = '', payload = '', signature = ''] = good.split('.');
  const unsigned = Buffer.from(JSON.stringify({ alg: 'none', typ: sealedSnapshotType })).toString(
    'base64url',
  );
  const json = JSON.stringify(next);
  const hostile: Record<string, readonly [number, string]> = {
    nothing: [401, ''],
    'no JWS': [401, json],
    'alg none': [401, `${unsigned}.${payload}.`],
    'no signature': [401, `${head}.${payload}.`],
    'an altered payload': [401, `${head}.${payload.slice(0, -4)}AAAA.${signature}`],
    'a key that is not pinned': [401, await sealSnapshot(next, signingKeyOf(unknown.privateJwk))],
    'another type of token': [401, await signed(json, { typ: 'JWT' })],
    'half of it': [401, good.slice(0, good.length / 2)],
    'an older generation, validly signed': [
      409,
      await sealSnapshot(clusterSnapshot(router, { generation: 4 }), snapshotKey),
    ],
    'the same generation with other content': [
      409,
      await sealSnapshot(clusterSnapshot(router, { generation: 5 }), snapshotKey),
    ],
    'no JSON': [422, await signed('{')],
    'a member too many': [422, await signed(JSON.stringify({ ...next, admin: true }))],
    __proto__: [422, await signed(`{"__proto__":{"polluted":true},${json.slice(1)}`)],
    'constructor.prototype': [
      422,
      await signed(`{"constructor":{"prototype":{"polluted":true}},${json.slice(1)}`),
    ],
    '9 MB, within the limit of what is sealed': [
      422,
      await signed(JSON.stringify({ note: 'x'.repeat(8 * 1024 * 1024 + 1) })),
    ],
    'two servers with one ID': [
      422,
      await signed(JSON.stringify({ ...next, servers: [next.servers[0], next.servers[0]] })),
    ],
    '10,000 levels': [422, await signed('['.repeat(10_000) + ']'.repeat(10_000))],
    'a server without its set': [422, await signed(JSON.stringify({ ...next, servedSets: {} }))],
    'a server at a metadata address': [
      422,
      await signed(json.replace(`127.0.0.1:${router.peer.port}`, '169.254.169.254:80')),
    ],
  };
  for (const [what, [status, body]] of Object.entries(hostile)) {
    await context.test(what, async () => {
      const answer = await pushText(router.port, body);
      assert.equal(answer.status, status, answer.body);
      assert.match(answer.body, /"kind":"Status"/);
      assert.match(JSON.parse(answer.body).message, reasons[what] ?? /./);
      assert.ok(answer.body.length < 100_000, 'what is refused is not repeated');
      assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
      await assertUnchanged(router);
    });
  }
  assert.equal((await pushText(router.port, good)).status, 200, 'nothing was wrong with the rest of it');
});

test('S20: a push of any size is read up to the limit and not beyond', async (context) => {
  const router = await startRouterUnderTest(context, {
    snapshot: (backends) => clusterSnapshot(backends, { generation: 5 }),
  });
  const before = heldMemory();
  const answer = await pushText(router.port, 'a'.repeat(64 * 1024 * 1024));
  assert.equal(answer.status, 413);
  const growth = heldMemory() - before;
  context.diagnostic(`memory afterwards: ${inMegabytes(growth)} more`);
  assert.ok(growth < 32 * 1024 * 1024);
  await assertUnchanged(router);
});

test('S20: a push that goes on after its refusal is cut off, and the router lives', async (context) => {
  const router = await startRouterUnderTest(context);
  const raw = await rawHttp1(context, router.port, 'admin');
  raw.write(
    'PUT /.mixed-version-proxy/v1/snapshot HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n',
  );
  const chunk = 'a'.repeat(1024 * 1024);
  for (let sent = 0; sent < 32 && raw.statuses.length === 0; sent++) {
    raw.write(chunk);
    await eventually(() => !raw.socket.writableNeedDrain || raw.ended);
  }
  await raw.until(() => raw.statuses.length === 1);
  assert.deepEqual(raw.statuses, [413]);
  await raw.untilEnd();
  assert.equal((await ask(router.port, { path: targets.peer })).status, 200);
});

test('S20: only allowed callers may push, whatever they push and whoever signed it', async (context) => {
  const router = await startRouterUnderTest(context, {
    snapshot: (backends) => clusterSnapshot(backends, { generation: 5 }),
  });
  const body = await sealSnapshot(clusterSnapshot(router, { generation: 6 }), snapshotKey);
  for (const protocol of ['http/1.1', 'h2'] as const) {
    const request = { protocol, method: 'PUT', path: '/.mixed-version-proxy/v1/snapshot', body } as const;
    assert.equal((await ask(router.port, request)).status, 403);
    assert.equal((await ask(router.port, { ...request, client: 'alice' })).status, 403);
  }
  await assertUnchanged(router);
});
