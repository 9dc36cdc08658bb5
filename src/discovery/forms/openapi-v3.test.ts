import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  recordedServers,
  recordedSnapshot,
  snapshotOfSets,
} from '../../../test/support/api-servers/recorded-cluster.ts';
import { SharedWork } from '../../runtime/shared-work.ts';
import type { ServedSet } from '../../snapshot/format/schema.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { mergedDiscovery } from '../documents.ts';
import { parseOpenApiV3Index } from '../own-documents.ts';
import { openApiV3Servers } from './openapi-v3.ts';
import { openApiV3Index } from './openapi-v3-index.ts';

const table = buildRoutingTable(recordedSnapshot('kubernetes-1.25-1.26'));
const { a, b } = recordedServers('kubernetes-1.25-1.26');
const indexA = parseOpenApiV3Index(a.openapiV3);
const indexB = parseOpenApiV3Index(b.openapiV3);

function holders(serverRelativeURL: string | undefined, of = table): string[] | undefined {
  const [path = '', query = ''] = (serverRelativeURL ?? '').split('?');
  const servedBy = openApiV3Servers(path, query, of);
  return servedBy && [...servedBy.serverIds];
}

describe('the index', () => {
  test('has the paths of all servers in alphabetical order, the newest server’s URL where both have one', async () => {
    const response = await mergedDiscovery(
      { method: 'GET', path: '/openapi/v3', accept: 'text/html' },
      table,
      {},
    )?.respond();
    assert.equal(response?.headers.get('content-type'), 'application/json');
    const index = parseOpenApiV3Index(await response?.json());
    assert.deepEqual(
      Object.keys(index),
      [...new Set([...Object.keys(indexA), ...Object.keys(indexB)])].sort(),
    );
    for (const [path, url] of Object.entries(index)) assert.equal(url, indexB[path] ?? indexA[path]);
    assert.notEqual(indexA['apis/autoscaling/v2beta2'], undefined);
    assert.equal(index['apis/autoscaling/v2beta2'], indexA['apis/autoscaling/v2beta2']);
  });

  test('prefers the URL of a server that can be reached', () => {
    const set = (hash: string): ServedSet => ({
      storageVersions: {},
      openapiV3: { 'api/v1': `/openapi/v3/api/v1?hash=${hash}` },
    });
    const unreachable = buildRoutingTable(
      snapshotOfSets({
        a: { set: set('A'), version: 'v1.30.0', withoutAddress: true },
        b: { set: set('B'), version: 'v1.29.0', stale: true },
        c: { set: set('C'), version: 'v1.28.0' },
      }),
    );
    assert.deepEqual(new SharedWork(openApiV3Index(unreachable)).now(), {
      paths: { 'api/v1': { serverRelativeURL: '/openapi/v3/api/v1?hash=C' } },
    });
  });
});

test('of two documents under one path the one that describes more resources is listed', () => {
  const set = (hash: string, ...resources: string[]): ServedSet => ({
    storageVersions: Object.fromEntries(resources.map((name) => [`apps.${name}`, ['v1']])),
    openapiV3: { 'apis/apps/v1': `/openapi/v3/apis/apps/v1?hash=${hash}` },
  });
  const differing = buildRoutingTable(
    snapshotOfSets({
      // Leads, and has been told to serve less.
      a: { set: set('A', 'deployments'), version: 'v1.30.0' },
      b: { set: set('B', 'deployments', 'daemonsets'), version: 'v1.29.0' },
    }),
  );
  assert.deepEqual(new SharedWork(openApiV3Index(differing)).now(), {
    paths: { 'apis/apps/v1': { serverRelativeURL: '/openapi/v3/apis/apps/v1?hash=B' } },
  });
});

describe('a document', () => {
  test('is asked of the servers that hold it under the very hash', () => {
    assert.notEqual(indexA['api/v1'], indexB['api/v1']);
    assert.deepEqual(holders(indexA['api/v1']), ['a']);
    assert.deepEqual(holders(indexB['api/v1']), ['b']);
    assert.deepEqual(holders(`${indexB['api/v1']}&timeout=32s`), ['b']);
  });

  test('of which only one server has the path is asked of that one', () => {
    assert.deepEqual(holders(indexA['apis/autoscaling/v2beta2']), ['a']);
    assert.deepEqual(holders('/openapi/v3/apis/autoscaling/v2beta2'), ['a']);
  });

  test('under an unknown hash, or none, is asked of all that have the path', () => {
    assert.deepEqual(holders('/openapi/v3/apis/batch/v1?hash=0'), ['a', 'b']);
    assert.deepEqual(holders('/openapi/v3/apis/batch/v1'), ['a', 'b']);
  });

  test('that nobody has, or another path, is asked of none', () => {
    for (const path of [
      '/openapi/v3/apis/nosuch/v1',
      '/openapi/v3/',
      '/openapi/v3',
      '/openapi/v2',
      '/openapi/v3/constructor',
    ]) {
      assert.equal(openApiV3Servers(path, '', table), undefined, path);
    }
  });

  test('names the servers that have an address apart', () => {
    const set: ServedSet = { storageVersions: {}, openapiV3: { 'api/v1': '/openapi/v3/api/v1?hash=A' } };
    const half = buildRoutingTable(snapshotOfSets({ a: { set, withoutAddress: true }, b: { set } }));
    const servedBy = openApiV3Servers('/openapi/v3/api/v1', 'hash=A', half);
    assert.deepEqual(
      servedBy?.servers.map(({ id }) => id),
      ['a', 'b'],
    );
    assert.deepEqual(
      servedBy?.reachable.map(({ id }) => id),
      ['b'],
    );
  });
});

test('a URL in a server’s index that leads elsewhere is left out', () => {
  const urls = {
    'api/v1': '/openapi/v3/api/v1?hash=A',
    version: '//evil.example.com/openapi/v3/version',
    apis: 'https://evil.example.com/openapi/v3/apis',
    api: '/openapi/v3',
  };
  const paths = Object.fromEntries(
    Object.entries(urls).map(([path, serverRelativeURL]) => [path, { serverRelativeURL }]),
  );
  assert.deepEqual(parseOpenApiV3Index({ paths }), { 'api/v1': urls['api/v1'] });
});

test('what is no index is refused with a reason', () => {
  for (const document of [undefined, '<html>', {}, { paths: [] }, { paths: { a: {} } }, { kind: 'Status' }]) {
    assert.throws(() => parseOpenApiV3Index(document), {
      name: 'DiscoveryDocumentError',
      message: /^This is no OpenAPI v3 index:/,
    });
  }
});
