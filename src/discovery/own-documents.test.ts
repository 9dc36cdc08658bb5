import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type RecordedClusterName,
  recordedServers,
  recordedSnapshot,
  snapshotOfSets,
} from '../../test/support/api-servers/recorded-cluster.ts';
import { aggregatedV2, recordedTable } from '../../test/support/clients/ask-discovery.ts';
import { recordingLogger } from '../../test/support/recording-logger.ts';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { silentLogger } from '../runtime/logger.ts';
import type { APIGroupDiscovery, APIVersionDiscovery } from '../snapshot/format/schema.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { mergedDiscovery } from './documents.ts';
import { servedSetFromDiscovery } from './forms/aggregated.ts';
import { parseDiscoveryPath } from './forms/discovery-path.ts';
import { OwnDocuments, type ServersDocument } from './own-documents.ts';

/** The document of a server under a path, as `OwnDocuments` takes it. */
function ownWord(serverId: string, path: string, document: unknown): Promise<ServersDocument | undefined> {
  const parsed = parseDiscoveryPath(path);
  assert.ok(parsed, path);
  const contentType = parsed.kind === 'groups' ? aggregatedV2 : 'application/json';
  const response = { etag: undefined, contentType, text: async () => JSON.stringify(document) };
  return new OwnDocuments(silentLogger).take(serverId, parsed, response);
}

async function merged(
  path: string,
  own: Promise<ServersDocument | undefined> | undefined,
  { table, accept = '' }: { readonly table: RoutingTable; readonly accept?: string },
): Promise<{ readonly etag: string | null; readonly text: string }> {
  const response = await mergedDiscovery({ method: 'GET', path, accept }, table, {})?.respond(await own);
  return { etag: response?.headers.get('etag') ?? null, text: (await response?.text()) ?? '' };
}

const resource = (name: string, scope: 'Cluster' | 'Namespaced' = 'Namespaced') => ({
  resource: name,
  responseKind: { group: 'example.com', version: 'v1', kind: 'Widget' },
  scope,
  singularResource: 'widget',
  verbs: ['get', 'list'],
});
const apps: APIGroupDiscovery = {
  metadata: { name: 'apps' },
  versions: [{ version: 'v1', freshness: 'Current', resources: [resource('deployments')] }],
};
const custom = (...versions: APIVersionDiscovery[]): APIGroupDiscovery => ({
  metadata: { name: 'example.com' },
  versions,
});
const widgets = custom({ version: 'v1', freshness: 'Current', resources: [resource('widgets')] });
const list = (...items: APIGroupDiscovery[]) => ({
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  metadata: {},
  items,
});

/** Both servers serve these groups, of which example.com is made of custom resources. */
const tableOf = (...groups: APIGroupDiscovery[]): RoutingTable => {
  const set = { set: { ...servedSetFromDiscovery(groups), openapiV3: {} } };
  const customResourceGroups = [{ group: 'example.com', version: 'v1' }];
  return buildRoutingTable(snapshotOfSets({ a: set, b: set }, { customResourceGroups }));
};
const withoutWidgets = buildRoutingTable(
  snapshotOfSets({
    a: { set: servedSetFromDiscovery([apps]) },
    b: { set: servedSetFromDiscovery([apps]) },
  }),
);

describe('what a server says of itself now', () => {
  for (const accept of [aggregatedV2, aggregatedV2.replace('v=v2', 'v=v2beta1'), '']) {
    test(`is in the merged document, with all that the others serve: ${accept || 'classic'}`, async () => {
      const { text } = await merged('/apis', ownWord('b', '/apis', list(widgets)), {
        table: withoutWidgets,
        accept,
      });
      assert.match(text, /"apps"/);
      assert.match(text, /"example\.com"/);
      assert.doesNotMatch(text, /Stale/);
    });
  }

  test('gives the same document on every router whose server says the same', async () => {
    const said = list(apps, widgets);
    const [ofA, ofB] = await Promise.all(
      ['a', 'b'].map((id) =>
        merged('/apis', ownWord(id, '/apis', said), { table: withoutWidgets, accept: aggregatedV2 }),
      ),
    );
    assert.deepEqual(ofA, ofB);
    const ofSnapshot = await merged('/apis', undefined, { table: withoutWidgets, accept: aggregatedV2 });
    assert.notEqual(ofA?.etag, ofSnapshot.etag);
  });

  test('takes nothing away: what it does not list stays as the snapshot has it', async () => {
    const { text } = await merged('/apis', ownWord('a', '/apis', list(widgets)), {
      table: buildRoutingTable(snapshotOfSets({ a: { set: servedSetFromDiscovery([apps]) } })),
      accept: aggregatedV2,
    });
    assert.match(text, /"deployments".*"widgets"|"widgets".*"deployments"/);
  });

  test('of a custom resource counts for all servers: another scope is shown although the leading server had the old one', async () => {
    const cluster = custom({
      version: 'v1',
      freshness: 'Current',
      resources: [resource('widgets', 'Cluster')],
    });
    const { text } = await merged('/apis', ownWord('b', '/apis', list(cluster)), {
      table: tableOf(apps, widgets),
      accept: aggregatedV2,
    });
    assert.match(text, /"resource":"widgets"[^}]*\}[^}]*"scope":"Cluster"/);
  });

  test('of a group version whose resources it does not know at the moment is not that there are none', async () => {
    const unknown = custom({ version: 'v1', freshness: 'Stale' });
    const single = buildRoutingTable(snapshotOfSets({ a: { set: servedSetFromDiscovery([widgets]) } }));
    const { text } = await merged('/apis', ownWord('a', '/apis', list(unknown)), {
      table: single,
      accept: aggregatedV2,
    });
    assert.match(text, /"widgets".*"freshness":"Stale"/);
  });

  test('puts its groups in its order', async () => {
    const { text } = await merged('/apis', ownWord('a', '/apis', list(widgets, apps)), {
      table: buildRoutingTable(snapshotOfSets({ a: { set: servedSetFromDiscovery([apps]) } })),
    });
    const names = [...text.matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name);
    assert.deepEqual(names, ['example.com', 'apps']);
  });

  test('of the resources of one group version is in that list, beside what only others have', async () => {
    const table = tableOf(widgets);
    const { text } = await merged(
      '/apis/example.com/v1',
      ownWord('a', '/apis/example.com/v1', {
        kind: 'APIResourceList',
        groupVersion: 'example.com/v1',
        resources: [
          { name: 'gadgets', singularName: 'gadget', namespaced: true, kind: 'Gadget', verbs: ['get'] },
          { name: 'gadgets/status', singularName: '', namespaced: true, kind: 'Gadget', verbs: ['get'] },
        ],
      }),
      { table },
    );
    assert.match(text, /"name":"gadgets".*"name":"gadgets\/status"/);
    const unknown = await merged('/apis/other.example.com/v1', undefined, { table });
    assert.equal(unknown.text, '');
  });

  test('of a group names its new version where the group is no server’s own', async () => {
    const said = { kind: 'APIGroup', name: 'example.com', versions: [{ version: 'v2' }, { version: 'v1' }] };
    const { text } = await merged('/apis/example.com', ownWord('a', '/apis/example.com', said), {
      table: tableOf(widgets),
    });
    assert.match(text, /"versions":\[\{"groupVersion":"example\.com\/v2".*"example\.com\/v1"/);
  });

  test('of a group is no word on built-in versions: it lists the APIService objects of all servers', async () => {
    const said = { kind: 'APIGroup', name: 'apps', versions: [{ version: 'v2' }, { version: 'v1' }] };
    const { text } = await merged('/apis/apps', ownWord('a', '/apis/apps', said), { table: tableOf(apps) });
    assert.doesNotMatch(text, /apps\/v2/);
  });
});

describe('where real servers say what the snapshot has of them, the document is that of the snapshot', () => {
  for (const cluster of [
    'kubernetes-1.25-1.26',
    'kubernetes-1.26-batch-disabled',
  ] satisfies RecordedClusterName[]) {
    test(cluster, async () => {
      const table = buildRoutingTable(recordedSnapshot(cluster));
      for (const { id, aggregated, resourceLists, openapiV3 } of Object.values(recordedServers(cluster))) {
        const documents: [string, unknown][] = [...resourceLists, ['/openapi/v3', openapiV3]];
        if (aggregated !== undefined) documents.push(['/api', aggregated.api], ['/apis', aggregated.apis]);
        for (const [path, document] of documents) {
          const accept = path.split('/').length === 2 ? aggregatedV2 : '';
          const own = ownWord(id, path, document);
          assert.ok(own, path);
          const ofSnapshot = await merged(path, undefined, { table, accept });
          assert.deepEqual(await merged(path, own, { table, accept }), ofSnapshot, `${id} ${path}`);
        }
      }
    });
  }
});

describe('the OpenAPI v3 index', () => {
  const url = (path: string, hash: string) => `/openapi/v3/${path}?hash=${hash}`;
  const index = (urls: Readonly<Record<string, string>>) => ({
    paths: Object.fromEntries(
      Object.entries(urls).map(([path, hash]) => [path, { serverRelativeURL: url(path, hash) }]),
    ),
  });
  const table = buildRoutingTable(
    snapshotOf(
      {
        a: {
          serves: ['v1/pods'],
          openapiV3: { 'api/v1': url('api/v1', 'A'), 'apis/example.com/v1': url('apis/example.com/v1', '1') },
        },
        b: {
          serves: ['v1/pods'],
          openapiV3: { 'api/v1': url('api/v1', 'B'), 'apis/example.com/v1': url('apis/example.com/v1', '1') },
        },
      },
      { customResourceGroups: [{ group: 'example.com', version: 'v1' }] },
    ),
  );

  test('has what a server lists now: new paths, and other documents of custom resources', async () => {
    const said = index({ 'api/v1': 'B2', 'apis/example.com/v1': '2', 'apis/new.example.com/v1': '1' });
    const { text } = await merged('/openapi/v3', ownWord('b', '/openapi/v3', said), { table });
    assert.deepEqual(
      JSON.parse(text),
      index({ 'api/v1': 'A', 'apis/example.com/v1': '2', 'apis/new.example.com/v1': '1' }),
      'of what is built in, the leading server is followed',
    );
  });
});

describe('what is remembered', () => {
  const path = { kind: 'groups', legacy: false, trailingSlash: false } as const;
  const response = (etag: string | undefined, ...groups: APIGroupDiscovery[]) => ({
    etag,
    contentType: aggregatedV2,
    text: async () => JSON.stringify(list(...groups)),
  });

  test('is found again under its ETag, and without one by its text', async () => {
    const documents = new OwnDocuments(silentLogger);
    const tagged = await documents.take('a', path, response('"1"', apps));
    assert.deepEqual(
      [documents.known('a', path)?.etag, documents.known('a', path)?.document],
      ['"1"', tagged],
    );
    assert.equal(documents.known('b', path), undefined);
    const untagged = await documents.take('b', path, response(undefined, apps));
    assert.equal(await documents.take('b', path, response(undefined, apps)), untagged);
    assert.notEqual(await documents.take('b', path, response(undefined, widgets)), untagged);
  });

  test('is read once for all who are given it at the same time, and not read where its ETag is known', async () => {
    for (const etag of ['"1"', undefined]) {
      const documents = new OwnDocuments(silentLogger);
      const { text, ...head } = response(etag, apps);
      let read = 0;
      const counted = {
        ...head,
        text: () => {
          read += 1;
          return text();
        },
      };
      const taken = await Promise.all(Array.from({ length: 100 }, () => documents.take('a', path, counted)));
      assert.equal(new Set(taken).size, 1);
      assert.ok(taken[0]);
      assert.equal(
        read,
        etag === undefined ? 100 : 1,
        'without an ETag what it says is known by its text alone',
      );
      assert.equal(await documents.take('a', path, response(etag, apps)), taken[0]);
    }
  });

  test('is read by the next one where the first one’s response breaks off', async () => {
    const documents = new OwnDocuments(silentLogger);
    const good = response('"1"', apps);
    const broken = { ...good, text: () => Promise.reject(new Error('broken off')) };
    const first = documents.take('a', path, broken);
    const second = documents.take('a', path, good);
    await assert.rejects(first, /broken off/);
    assert.ok(await second);
  });

  test('is bounded, and the oldest goes', async () => {
    const documents = new OwnDocuments(silentLogger);
    for (let index = 0; index < 600; index++)
      await documents.take(`server-${index}`, path, response('"1"', apps));
    assert.equal(documents.known('server-0', path), undefined);
    assert.ok(documents.known('server-599', path));
  });

  test('is nothing of a document that is none, which is logged once', async () => {
    const { logger, lines } = recordingLogger();
    const documents = new OwnDocuments(logger);
    for (const text of ['<html></html>', '<html></html>', '{"kind":"APIGroupDiscoveryList","items":[{}']) {
      assert.equal(
        await documents.take('a', path, {
          etag: undefined,
          contentType: aggregatedV2,
          text: async () => text,
        }),
        undefined,
      );
    }
    assert.equal(lines.length, 2);
    const ofSnapshot = await merged('/apis', undefined, { table: recordedTable });
    assert.ok(ofSnapshot.etag);
  });

  test('is nothing of a classic list, which old servers give: it lists what others serve', async () => {
    const documents = new OwnDocuments(silentLogger);
    const text = JSON.stringify({ kind: 'APIGroupList', apiVersion: 'v1', groups: [] });
    const classic = { etag: undefined, contentType: 'application/json', text: async () => text };
    assert.equal(await documents.take('a', path, classic), undefined);
  });
});
