import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createAuthority } from '../../../test/support/certificates.ts';
import { httpsServer } from '../../../test/support/https-server.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { parseStoredSnapshotText } from '../../snapshot/receiving/snapshot-store.ts';
import { generateSigningKey, signingKeyOf } from '../../snapshot/signing/signing-key.ts';
import { renewDelivery, sealDelivery } from '../delivery/deliver.ts';
import { workersKvTarget } from './workers-kv-target.ts';

// Against a double of Cloudflare's API that responds as its documentation says, over real HTTPS. The service itself
// was not called.

const authority = await createAuthority('api');
const serving = await authority.issue({
  dnsNames: ['localhost'],
  ipAddresses: ['127.0.0.1'],
  usage: 'server',
});
const { privateJwk } = await generateSigningKey('EdDSA');
const key = signingKeyOf(privateJwk);
const { signal } = new AbortController();
const token = 'v1.0-token';

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly authorization: string;
}

/** @param failure the response to a write, which is not done then */
async function kv(context: TestContext, failure?: () => { status: number; body: string } | undefined) {
  const values = new Map<string, string>();
  const asked: Asked[] = [];
  const { port } = await httpsServer(
    context,
    { cert: serving.certificate, key: serving.privateKey },
    async (incoming, response) => {
      const { method = '', url = '', headers } = incoming;
      asked.push({ method, url, authorization: headers.authorization ?? '' });
      const body = Buffer.concat(await incoming.toArray()).toString();
      const failed = failure?.();
      if (failed !== undefined) {
        response.writeHead(failed.status, { 'content-type': 'application/json' }).end(failed.body);
        return;
      }
      if (method === 'PUT') {
        values.set(url, body);
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end('{"result":null,"success":true,"errors":[],"messages":[]}');
        return;
      }
      const value = values.get(url);
      response.writeHead(value === undefined ? 404 : 200, { 'content-type': 'application/octet-stream' });
      response.end(
        value ??
          '{"success":false,"errors":[{"code":10009,"message":"key not found"}],"messages":[],"result":null}',
      );
    },
  );
  const target = workersKvTarget({
    accountId: 'account',
    namespaceId: 'namespace',
    key: 'clusters/blue',
    apiToken: () => token,
    apiUrl: `https://localhost:${port}/client/v4/`,
    certificateAuthorities: authority.certificate,
  });
  context.after(() => target.close());
  return { values, asked, target };
}

const path = '/client/v4/accounts/account/storage/kv/namespaces/namespace/values/clusters%2Fblue';

test('a snapshot is written under its key, then only changes', async (context) => {
  const { values, asked, target } = await kv(context);
  const delivery = await sealDelivery(snapshotOf({ a: ['v1/pods'] }), key);
  assert.deepEqual(await target.put(delivery, signal), { kind: 'accepted' });
  assert.deepEqual(await target.put(delivery, signal), { kind: 'accepted' });
  assert.deepEqual(asked, [{ method: 'PUT', url: path, authorization: `Bearer ${token}` }]);
  assert.deepEqual(parseStoredSnapshotText(values.get(path) ?? ''), { snapshot: delivery.sealed?.snapshot });

  const renewed = await renewDelivery(delivery, key, Date.now() + 1000);
  assert.deepEqual(await target.put(renewed, signal), { kind: 'accepted' });
  assert.deepEqual(parseStoredSnapshotText(values.get(path) ?? ''), {
    snapshot: delivery.sealed?.snapshot,
    renewal: renewed.sealed?.renewal,
  });
});

test('the stored snapshot can be read, for the next sync job', async (context) => {
  const { target } = await kv(context);
  assert.equal(await target.held(signal), undefined);
  const delivery = await sealDelivery(snapshotOf({ a: ['v1/pods'] }), key);
  await target.put(delivery, signal);
  assert.equal(await target.held(signal), delivery.sealed?.snapshot);
});

test('a refusal has the reason of the API, and the snapshot is written once it is allowed', async (context) => {
  let failure: { status: number; body: string } | undefined = {
    status: 403,
    body: '{"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"messages":[],"result":null}',
  };
  const { target } = await kv(context, () => failure);
  const delivery = await sealDelivery(snapshotOf({ a: ['v1/pods'] }), key);
  assert.deepEqual(await target.put(delivery, signal), {
    kind: 'refused',
    message: '403 Authentication error (10000)',
  });
  failure = { status: 502, body: '<html>Bad gateway</html>' };
  assert.deepEqual(await target.put(delivery, signal), { kind: 'refused', message: '502 without a reason' });
  // Success in the envelope counts, not the code alone.
  failure = { status: 200, body: '{"success":false,"errors":[{"code":1,"message":"no"}]}' };
  assert.deepEqual(await target.put(delivery, signal), { kind: 'refused', message: '200 no (1)' });
  failure = undefined;
  assert.deepEqual(await target.put(delivery, signal), { kind: 'accepted' });
});

test('a value over the limit of Workers KV is refused before it is sent', async (context) => {
  const { asked, target } = await kv(context);
  const snapshot = snapshotOf({ a: ['v1/pods'] });
  const delivery = {
    snapshot,
    sealed: {
      snapshot: 'x'.repeat(25 * 1024 * 1024),
      renewal: undefined,
      held: { digest: '', createdAt: 0 },
    },
  };
  const result = await target.put(delivery, signal);
  assert.equal(result.kind, 'refused');
  assert.match(
    result.kind === 'refused' ? result.message : '',
    /26214401 bytes, a value .* at most 26214400/,
  );
  assert.deepEqual(asked, []);
});

test('an unsigned snapshot is refused', async (context) => {
  const { asked, target } = await kv(context);
  const unsigned = await sealDelivery(snapshotOf({ a: ['v1/pods'] }), undefined);
  assert.equal((await target.put(unsigned, signal)).kind, 'refused');
  assert.deepEqual(asked, []);
});
