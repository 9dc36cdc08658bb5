import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aggregatedV2, aggregatedV2beta1, answered, ask, tableOf } from '../../test/support/ask-discovery.ts';
import { snapshotOfSets } from '../../test/support/recorded-cluster.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import { servedSetFromDiscovery } from './forms/aggregated.ts';

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

  test('is indented when pretty is asked for, under an ETag of its own', async () => {
    const plain = await answered('/apis');
    for (const request of [{ query: 'pretty=true' }, { accept: 'application/json;pretty=1' }]) {
      const pretty = await answered('/apis', request);
      assert.match(await pretty.clone().text(), /^\{\n {2}"kind"/);
      assert.deepEqual(await pretty.json(), await plain.clone().json());
      assert.notEqual(pretty.headers.get('etag'), plain.headers.get('etag'));
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
