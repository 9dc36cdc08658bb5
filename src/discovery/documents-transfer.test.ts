import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import {
  aggregatedV2,
  aggregatedV2beta1,
  answered,
  ask,
  recordedTable as table,
  tableOf,
} from '../../test/support/ask-discovery.ts';
import { snapshotOfSets } from '../../test/support/recorded-cluster.ts';
import { buildRoutingTable, renewedTable } from '../snapshot/routing-table/build-routing-table.ts';
import { prewarmDiscovery } from './documents.ts';
import { mergedDocumentsOf } from './merged-documents.ts';

describe('the ETag', () => {
  test('is the SHA-512 of the JSON in upper-case hexadecimal', async () => {
    const response = await answered('/apis', { accept: aggregatedV2 });
    const json = (await response.text()).trimEnd();
    const expected = `"${createHash('sha512').update(json).digest('hex').toUpperCase()}"`;
    assert.equal(response.headers.get('etag'), expected);
  });

  test('is the same on every router that holds the snapshot, whichever server is its own', async () => {
    const elsewhere = structuredClone(table.snapshot);
    const reversed = buildRoutingTable({ ...elsewhere, servers: elsewhere.servers.toReversed() });
    for (const [path, accept] of [
      ['/apis', aggregatedV2],
      ['/api', aggregatedV2beta1],
      ['/apis', ''],
      ['/apis/batch/v1', ''],
      ['/openapi/v3', ''],
    ] as const) {
      const here = await ask(path, { accept }, table, 'a');
      const there = await ask(path, { accept }, reversed, 'b');
      assert.ok(here?.headers.get('etag'));
      assert.equal(here?.headers.get('etag'), there?.headers.get('etag'), path);
    }
  });

  test('that the client has already gets 304 and no body', async () => {
    const etag = (await answered('/apis', { accept: aggregatedV2 })).headers.get('etag') ?? '';
    for (const ifNoneMatch of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await answered('/apis', { accept: aggregatedV2, ifNoneMatch });
      assert.equal(response.status, 304, ifNoneMatch);
      assert.equal(response.body, null);
      assert.equal(response.headers.get('etag'), etag);
      assert.equal(response.headers.get('cache-control'), 'public');
      assert.equal(response.headers.get('content-type'), null);
    }
    const changed = await answered('/apis', { accept: aggregatedV2beta1, ifNoneMatch: etag });
    assert.equal(changed.status, 200);
  });
});

test('caches are told what the response depends on, and only aggregated discovery may be shared', async () => {
  const aggregated = await answered('/apis', { accept: aggregatedV2 });
  assert.equal(aggregated.headers.get('cache-control'), 'public');
  const classic = await answered('/apis');
  assert.equal(classic.headers.get('cache-control'), 'no-cache, private');
  for (const response of [aggregated, classic]) {
    assert.equal(response.headers.get('vary'), 'Accept, Accept-Encoding');
  }
});

test('HEAD gets the headers of GET and no body', async () => {
  const get = await answered('/apis', { accept: aggregatedV2 });
  const head = await answered('/apis', { method: 'HEAD', accept: aggregatedV2 });
  assert.equal(head.body, null);
  assert.deepEqual([...head.headers], [...get.headers]);
  assert.equal(get.headers.get('content-length'), String((await get.arrayBuffer()).byteLength));
});

describe('gzip', () => {
  const groups = Array.from({ length: 2000 }, (_, index) => ({
    metadata: { name: `group${index}.example.com` },
    versions: [{ version: 'v1' }],
  }));
  const large = tableOf(groups);

  test('is for clients that take it, once a document is over 128 KiB', async () => {
    const plain = await answered('/apis', {}, large);
    assert.equal(plain.headers.get('content-encoding'), null);
    const gzipped = await answered('/apis', { acceptEncoding: 'gzip, deflate' }, large);
    assert.equal(gzipped.headers.get('content-encoding'), 'gzip');
    assert.equal(gzipped.headers.get('etag'), plain.headers.get('etag'));
    const body = new Uint8Array(await gzipped.arrayBuffer());
    assert.equal(gzipped.headers.get('content-length'), String(body.byteLength));
    assert.equal(gunzipSync(body).toString(), await plain.text());
  });

  test('is not for short documents, nor for clients that refuse it', async () => {
    const short = await answered('/apis', { acceptEncoding: 'gzip' });
    assert.equal(short.headers.get('content-encoding'), null);
    const refused = await answered('/apis', { acceptEncoding: 'gzip;q=0' }, large);
    assert.equal(refused.headers.get('content-encoding'), null);
  });
});

describe('the documents of a snapshot', () => {
  test('are made once, and a renewal does not make them again', () => {
    const documents = mergedDocumentsOf(table);
    const path = { kind: 'groups', legacy: false, trailingSlash: false } as const;
    assert.ok(documents.get(path, 'v2', false));
    assert.equal(documents.get(path, 'v2', false)?.document, documents.get(path, 'v2', false)?.document);
    assert.equal(mergedDocumentsOf(renewedTable(table, new Date().toISOString())), documents);
  });

  test('can be made ahead of the first request, and are then the same', async () => {
    const fresh = buildRoutingTable(structuredClone(table.snapshot));
    await prewarmDiscovery(fresh);
    const warm = await answered('/apis', { accept: aggregatedV2 }, fresh);
    assert.equal(
      warm.headers.get('etag'),
      (await answered('/apis', { accept: aggregatedV2 })).headers.get('etag'),
    );
    await prewarmDiscovery(buildRoutingTable(snapshotOfSets({ a: { set: { storageVersions: {} } } })));
  });
});
