import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { snapshotOfSets } from '../../test/support/api-servers/recorded-cluster.ts';
import {
  aggregatedV2,
  aggregatedV2beta1,
  answered,
  ask,
  recordedTable as table,
  tableOf,
} from '../../test/support/clients/ask-discovery.ts';
import { SharedWork } from '../runtime/shared-work.ts';
import { buildRoutingTable, renewedTable } from '../snapshot/routing-table/build-routing-table.ts';
import { prewarmDiscovery } from './documents.ts';
import { servedSetFromDiscovery } from './forms/aggregated.ts';
import { parseDiscoveryPath } from './forms/discovery-path.ts';
import { jsonDocument } from './forms/encoded-document.ts';
import { mergedDocumentsOf } from './merged-documents.ts';

describe('the form of the response', () => {
  test('is what kubectl 1.33 and 1.27 ask for, under exactly that content type', async () => {
    const newer = await answered('/apis', {
      accept: `${aggregatedV2},${aggregatedV2beta1},application/json`,
    });
    assert.equal(newer.headers.get('content-type'), aggregatedV2);
    const older = await answered('/apis', { accept: `${aggregatedV2beta1},application/json` });
    assert.equal(older.headers.get('content-type'), aggregatedV2beta1);
  });

  test('is the classic one for a client that knows no other', async () => {
    for (const accept of [undefined, '', '*/*', 'application/json, */*']) {
      const response = await answered('/apis', { accept });
      assert.equal(response.headers.get('content-type'), 'application/json');
      assert.match(await response.text(), /^\{"kind":"APIGroupList","apiVersion":"v1","groups":\[.*\]\}\n$/);
    }
  });

  test('is the aggregated one wherever its clause stands, as on an API server', async () => {
    const response = await answered('/apis', { accept: `application/json,${aggregatedV2};q=0.1` });
    assert.equal(response.headers.get('content-type'), aggregatedV2);
  });

  test('is the classic one with a trailing slash', async () => {
    for (const path of ['/api/', '/apis/', '/apis/batch/', '/apis/batch/v1/', '/api/v1/']) {
      const response = await answered(path, { accept: `${aggregatedV2},application/json` });
      assert.equal(response.headers.get('content-type'), 'application/json', path);
    }
  });
});

describe('the local server answers', () => {
  test('what is asked of it alone with profile=nopeer', () => {
    for (const accept of [aggregatedV2, aggregatedV2beta1, 'application/json']) {
      assert.equal(ask('/apis', { accept: `${accept};profile=nopeer` }), undefined, accept);
    }
    assert.ok(ask('/apis', { accept: `${aggregatedV2};profile=unknown` }));
  });

  test('forms that only it can write, unless JSON will do', () => {
    for (const accept of [
      'application/vnd.kubernetes.protobuf',
      'application/yaml',
      'application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    ]) {
      assert.equal(ask('/apis', { accept }), undefined, accept);
      assert.ok(ask('/apis', { accept: `${accept},application/json;q=0.1` }), accept);
    }
  });

  test('for paths that are no discovery, and for what no server has', () => {
    for (const path of [
      '/',
      '/apis//v1',
      '/apis//',
      '/api/v1/pods',
      '/api/v2',
      '/apis/nosuch.example.com',
      '/apis/nosuch.example.com/v1',
      '/apis/batch/v9',
      '/apis/batch/v1/jobs',
      '/apisx',
      '/openapi/v2',
      '/openapi/v3/',
      '/version',
      '/apis/constructor/v1',
      '/apis/__proto__',
    ]) {
      assert.equal(ask(path), undefined, path);
      assert.equal(ask(path, { accept: 'text/html' }), undefined, path);
    }
  });

  test('forms that do not exist, which it refuses', () => {
    for (const path of ['/apis', '/apis/', '/apis/batch', '/apis/batch/v1', '/api/v1']) {
      assert.equal(ask(path, { accept: 'text/html' }), undefined, path);
    }
    for (const path of ['/apis/', '/apis/batch', '/apis/batch/v1', '/api/v1']) {
      assert.equal(ask(path, { accept: aggregatedV2 }), undefined, path);
    }
  });

  test('anything but GET and HEAD', () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'get']) {
      assert.equal(ask('/apis', { method }), undefined, method);
    }
  });

  test('while the snapshot does not know its discovery, which could hold more', () => {
    const known = servedSetFromDiscovery([{ metadata: { name: 'apps' }, versions: [{ version: 'v1' }] }]);
    const mixed = buildRoutingTable(
      snapshotOfSets({ a: { set: known }, b: { set: { storageVersions: {} } } }),
    );
    assert.ok(ask('/apis', {}, mixed, 'a'));
    assert.equal(ask('/apis', {}, mixed, 'b'), undefined);
    assert.equal(ask('/openapi/v3', {}, mixed, 'a'), undefined);
    assert.ok(ask('/apis', {}, mixed, 'not-in-the-snapshot'));
  });

  test('a snapshot without any discovery', () => {
    const none = buildRoutingTable(snapshotOfSets({ a: { set: { storageVersions: {} } } }));
    assert.equal(ask('/apis', {}, none, 'x'), undefined);
    assert.equal(ask('/openapi/v3', {}, none, 'x'), undefined);
  });
});

describe('a group version that no reachable server serves', () => {
  const resources = [{ resource: 'widgets', responseKind: { kind: 'Widget' }, verbs: ['get'] }];

  test('stays in every form, marked Stale where the form can say so', async () => {
    const stale = tableOf([
      { metadata: { name: 'example.com' }, versions: [{ version: 'v1', freshness: 'Stale', resources }] },
    ]);
    assert.match(
      await (await answered('/apis', { accept: aggregatedV2 }, stale)).text(),
      /"freshness":"Stale"/,
    );
    assert.match(await (await answered('/apis', {}, stale)).text(), /example\.com\/v1/);
    assert.match(await (await answered('/apis/example.com/v1', {}, stale)).text(), /widgets/);
  });

  test('is no empty resource list when its resources are not known: that would say there are none', () => {
    const stale = tableOf([
      { metadata: { name: 'example.com' }, versions: [{ version: 'v1', freshness: 'Stale' }] },
    ]);
    assert.equal(ask('/apis/example.com/v1', {}, stale), undefined);
  });

  test('is not preferred to one that is served', async () => {
    const mixed = tableOf([
      {
        metadata: { name: 'example.com' },
        versions: [{ version: 'v2', freshness: 'Stale' }, { version: 'v1' }],
      },
    ]);
    const document = await (await answered('/apis/example.com', {}, mixed)).json();
    assert.deepEqual(document, {
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'example.com',
      versions: [
        { groupVersion: 'example.com/v2', version: 'v2' },
        { groupVersion: 'example.com/v1', version: 'v1' },
      ],
      preferredVersion: { groupVersion: 'example.com/v1', version: 'v1' },
    });
  });
});

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
  test('are made once, and a renewal does not make them again', async () => {
    const documents = mergedDocumentsOf(table);
    const path = { kind: 'groups', legacy: false, trailingSlash: false } as const;
    const [one, other] = await Promise.all([documents.get(path, 'v2'), documents.get(path, 'v2')]);
    assert.ok(one);
    assert.equal(one.document, other?.document);
    assert.equal((await documents.get(path, 'v2'))?.wasMade, true);
    assert.equal(mergedDocumentsOf(renewedTable(table, new Date().toISOString())), documents);
  });

  test('are merged ahead of the first request, and are then the same', async () => {
    const fresh = buildRoutingTable(structuredClone(table.snapshot));
    await prewarmDiscovery(fresh);
    const warm = await answered('/apis', { accept: aggregatedV2 }, fresh);
    assert.equal(
      warm.headers.get('etag'),
      (await answered('/apis', { accept: aggregatedV2 })).headers.get('etag'),
    );
    await prewarmDiscovery(buildRoutingTable(snapshotOfSets({ a: { set: { storageVersions: {} } } })));
  });

  test('are said to be known without being made, and only those that are served', async () => {
    const documents = mergedDocumentsOf(buildRoutingTable(structuredClone(table.snapshot)));
    for (const path of [
      '/api',
      '/apis',
      '/apis/apps',
      '/apis/apps/v1',
      '/api/v1',
      '/openapi/v3',
      '/apis/none',
      '/apis/apps/v9',
    ]) {
      const parsed = parseDiscoveryPath(path);
      assert.ok(parsed);
      assert.equal(documents.isKnown(parsed), (await documents.get(parsed, 'plain')) !== undefined, path);
    }
  });
});

test('a document is written a group at a time, in the words of JSON.stringify', () => {
  const value = {
    kind: 'List',
    none: undefined,
    metadata: { a: [1, { b: 2 }] },
    items: [{ x: [] }, {}, { y: ['\n'] }],
    empty: [],
  };
  const steps = [...jsonDocument(value)];
  assert.ok(steps.length >= value.items.length, 'others can run in between');
  const { body } = new SharedWork(jsonDocument(value)).now();
  assert.equal(new TextDecoder().decode(body), `${JSON.stringify(value)}\n`);
});
