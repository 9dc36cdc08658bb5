import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { getRequestListener } from '@hono/node-server';
import { classicResponses } from '../../../test/support/api-servers/fake-server-documents.ts';
import { httpsServer } from '../../../test/support/api-servers/https-server.ts';
import { createAuthority } from '../../../test/support/certificates.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { SnapshotReceiver } from '../../snapshot/receiving/receiver.ts';
import { getSnapshot } from '../../snapshot/receiving/snapshot-endpoint.ts';
import { SnapshotPushes } from '../../snapshot/receiving/snapshot-pushes.ts';
import { createMemorySnapshotStore } from '../../snapshot/receiving/snapshot-store.ts';
import { parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../snapshot/signing/seal.ts';
import type { SyncLoop } from '../sync-loop.ts';
import { runSync, syncOnce } from './run-sync.ts';
import type { SyncOptions } from './sync-options.ts';

const authority = await createAuthority('cluster');
const names = ['kubernetes.default.svc', 'router.example.com'];
const serving = await authority.issue({ dnsNames: names, usage: 'server' });
const client = await authority.issue({ commonName: 'sync-job', usage: 'client' });
const clientCertificate = { certificate: client.chain, key: client.privateKey };
const tls = {
  cert: serving.certificate,
  key: serving.privateKey,
  ca: authority.certificate,
  requestCert: true,
  rejectUnauthorized: true,
};
const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
const signingKey = signingKeyOf(privateJwk);
const { signal } = new AbortController();

async function newReceiver(): Promise<SnapshotReceiver> {
  const parsed = await parseSnapshotKeys(JSON.stringify({ keys: [publicJwk] }));
  assert.ok(parsed.ok);
  const { keys } = parsed;
  return new SnapshotReceiver({
    keys: () => keys,
    addressPolicy: createAddressPolicy({ allowLoopback: true }),
    store: createMemorySnapshotStore(),
  });
}

/** A router's responses under /.mixed-version-proxy/v1/snapshot. */
function routerHandler(receiver: SnapshotReceiver) {
  return async (request: Request): Promise<Response> => {
    if (request.method === 'GET') return getSnapshot(request.headers.get('accept') ?? undefined, receiver);
    assert.equal(request.headers.get('content-type'), 'application/jose');
    return new SnapshotPushes(receiver).take({ body: request.body, queue: '' });
  };
}

async function router(context: TestContext, handler: (request: Request) => Promise<Response>) {
  const { port } = await httpsServer(context, tls, getRequestListener(handler));
  return { url: `https://127.0.0.1:${port}`, serverName: 'router.example.com' };
}

async function apiServer(context: TestContext, documents: Record<string, object>) {
  const { port } = await httpsServer(context, tls, ({ url }, response) => {
    const document = documents[url?.split('?')[0] ?? ''];
    response.statusCode = document === undefined ? 404 : 200;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(document ?? { kind: 'Status', code: 404 }));
  });
  return `127.0.0.1:${port}`;
}

const soon = { initialMilliseconds: 5, maximumMilliseconds: 20 };
const base = {
  certificateAuthorities: authority.certificate,
  clientCertificate,
  signingKey: privateJwk,
  timing: { interval: 10, deliveryBackOff: soon, readBackOff: soon },
} satisfies Partial<SyncOptions>;

/** Runs the sync job until the test is over. */
async function running(context: TestContext, options: SyncOptions): Promise<SyncLoop> {
  const controller = new AbortController();
  const { promise, resolve } = Promise.withResolvers<SyncLoop>();
  const ended = runSync(options, controller.signal, resolve);
  context.after(() => {
    controller.abort();
    return ended;
  });
  return promise;
}

const older = classicResponses({ v1: ['pods'], 'batch/v1beta1': ['cronjobs'] });

test('a restart without a file starts from the snapshot that routers hold', async (context) => {
  const receiver = await newReceiver();
  const address = await apiServer(context, older);
  const generation = Math.floor(Date.now() / 1000) + 3600;
  const known = snapshotOf({ a: ['v1/pods'], gone: ['v1/pods', 'batch/v1/jobs'] }, { generation });
  await receiver.accept(await sealSnapshot(known, signingKey));
  await running(context, {
    ...base,
    servers: [
      { id: 'a', address },
      { id: 'gone', address: '127.0.0.1:1' },
    ],
    routers: [await router(context, routerHandler(receiver))],
  });
  await eventually(() => receiver.current()?.generation === generation + 1);
  assert.deepEqual([...(receiver.current()?.resource('batch', 'v1', 'jobs')?.serverIds ?? [])], ['gone']);
  assert.equal(receiver.current()?.server('gone')?.stale, true);
});

test('a restart with a signed file starts from it', async (context) => {
  const folder = await temporaryDirectory(context);
  const file = { file: join(folder, 'out') };
  const servers = [{ id: 'a', address: await apiServer(context, older) }];
  const first = await syncOnce({ ...base, servers, files: [file] }, signal);
  assert.ok(first.ok, JSON.stringify(first.deliveries));
  const plain = join(folder, 'plain.json');
  const second = await syncOnce({ ...base, servers, files: [file, { file: plain, unsigned: true }] }, signal);
  assert.deepEqual(second.snapshot, first.snapshot);
  assert.deepEqual(JSON.parse(await readFile(plain, 'utf8')), first.snapshot);
});

test('options that cannot work are refused, every error at once', async () => {
  const options: SyncOptions = {
    certificateAuthorities: authority.certificate,
    servers: [{ id: 'a' }],
    routers: [{ url: 'https://router.example.com' }],
  };
  await assert.rejects(
    runSync(options, signal),
    /server a has no address.*only from a client with a certificate.*no signing key/,
  );
  await assert.rejects(runSync({ ...base, servers: [] }, signal), /no server to read.*no router and no file/);
  const both = { id: 'b', address: '10.0.0.2:6443', url: 'https://b.example.com' };
  const twice = [{ id: 'a', url: 'https://a.example.com' }, { id: 'a', url: 'https://a.example.com' }, both];
  await assert.rejects(
    runSync({ ...base, servers: twice }, signal),
    /server a is listed twice; server b has both address and url/,
  );
  await assert.rejects(
    runSync(
      {
        ...base,
        signingKey: publicJwk,
        servers: [{ id: 'a', url: 'https://a.invalid' }],
        files: [{ file: 'x' }],
      },
      signal,
    ),
    /must be a private key/,
  );
});
