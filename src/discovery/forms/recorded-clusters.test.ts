import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as v from 'valibot';
import {
  type RecordedClusterName,
  type RecordedServer,
  recordedServedSet,
  recordedServers,
  recordedSnapshot,
  snapshotOfSets,
} from '../../../test/support/api-servers/recorded-cluster.ts';
import type { APIGroupDiscovery } from '../../snapshot/format/schema.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { mergedDiscovery } from '../documents.ts';
import { type MergedDiscovery, mergeDiscovery, storageVersionHashKey } from '../merge-discovery.ts';
import { aggregatedDocument, parseAggregated } from './aggregated.ts';
import {
  apiGroupListDocument,
  apiResourceListDocument,
  apiVersionsDocument,
  parseClassic,
} from './classic.ts';

const clusters: readonly RecordedClusterName[] = ['kubernetes-1.25-1.26', 'kubernetes-1.26-batch-disabled'];

/** Path to group and version, for every group version of `groups`. */
function* groupVersions(groups: readonly APIGroupDiscovery[]) {
  for (const { metadata, versions = [] } of groups) {
    const group = metadata.name ?? '';
    for (const version of versions) {
      yield {
        path: group === '' ? `/api/${version.version}` : `/apis/${group}/${version.version}`,
        group,
        version,
      };
    }
  }
}

const discoveryVersion = v.object({ groupVersion: v.string(), version: v.string() });
/** Strict, so that a field that is recorded but not known here fails. */
const groupList = v.strictObject({
  kind: v.literal('APIGroupList'),
  apiVersion: v.literal('v1'),
  groups: v.array(
    v.strictObject({
      name: v.string(),
      versions: v.array(discoveryVersion),
      preferredVersion: discoveryVersion,
    }),
  ),
});

function mergedGroups(a: RecordedServer, b: RecordedServer): readonly APIGroupDiscovery[] {
  return merged(a, b).groups;
}

function merged(a: RecordedServer, b: RecordedServer): MergedDiscovery {
  const views = [a, b].map((server) => {
    const { discovery = [], storageVersionHashes } = recordedServedSet(server);
    return {
      serverId: server.id,
      version: server.version,
      groups: discovery,
      storageVersionHashes,
      stale: false,
    };
  });
  return mergeDiscovery(views);
}

/** `<path> <resource> <verbs>` of everything a list tells, subresources included. */
function advertised(path: string, list: unknown): string[] {
  const { resources } = parseClassic('APIResourceList', list);
  return resources.map(({ name, kind, verbs }) => `${path} ${name} ${kind} ${verbs.join(',')}`);
}

for (const cluster of clusters) {
  const { a, b } = recordedServers(cluster);

  describe(`the documents made of one server of ${cluster}`, () => {
    for (const server of [a, b]) {
      test(`are the resource lists that server ${server.id} gave, with the hashes of storage versions`, async () => {
        const set = recordedServedSet(server);
        const table = buildRoutingTable(snapshotOfSets({ [server.id]: { version: server.version, set } }));
        const listed = [...groupVersions(server.groups)].map(({ path }) => path);
        assert.deepEqual(listed.sort(), [...server.resourceLists.keys()].sort());
        for (const [path, recorded] of server.resourceLists) {
          const answer = await mergedDiscovery({ method: 'GET', path }, table, {})?.respond();
          assert.equal(await answer?.text(), `${JSON.stringify(recorded)}\n`, path);
        }
      });

      test(`are the group list of server ${server.id} without what it answers with 404`, () => {
        const served = new Set([...groupVersions(server.groups)].map(({ path }) => path));
        const { groups, ...list } = v.parse(groupList, server.classic.apis);
        const expected = groups.flatMap((group) => {
          const versions = group.versions.filter(({ groupVersion }) => served.has(`/apis/${groupVersion}`));
          const [first] = versions;
          if (first === undefined) return [];
          const isServed = served.has(`/apis/${group.preferredVersion.groupVersion}`);
          return { ...group, versions, preferredVersion: isServed ? group.preferredVersion : first };
        });
        const made = apiGroupListDocument(
          server.groups.filter(({ metadata }) => metadata.name !== undefined),
        );
        assert.equal(JSON.stringify(made), JSON.stringify({ ...list, groups: expected }));
      });

      test(`are /api of server ${server.id} but for its internal address`, () => {
        const [legacy] = server.groups;
        assert.ok(legacy);
        const { serverAddressByClientCIDRs, ...made } = apiVersionsDocument(legacy);
        assert.deepEqual(serverAddressByClientCIDRs, []);
        const { serverAddressByClientCIDRs: _addresses, ...recorded } = v.parse(
          v.looseObject({}),
          server.classic.api,
        );
        assert.deepEqual(made, recorded);
        assert.deepEqual(parseClassic('APIVersions', server.classic.api).versions, ['v1']);
      });
    }
  });

  describe(`the documents merged from both servers of ${cluster}`, () => {
    const { groups, storageVersionHashes } = merged(a, b);

    test('advertise every resource that some server gave, and nothing else', () => {
      const wanted = new Set(
        [a, b].flatMap(({ resourceLists }) =>
          [...resourceLists].flatMap(([path, list]) => advertised(path, list)),
        ),
      );
      const made = [...groupVersions(groups)].flatMap(({ path, group, version }) =>
        advertised(path, apiResourceListDocument(group, version)),
      );
      assert.deepEqual(made.toSorted(), [...wanted].sort());
    });

    test('say the same in classic form, v2beta1 and v2', async () => {
      const table = buildRoutingTable(recordedSnapshot(cluster));
      const get = async (path: string, version?: string): Promise<unknown> => {
        const accept =
          version && `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
        const response = await mergedDiscovery({ method: 'GET', path, accept }, table, {
          localServerId: 'a',
        })?.respond();
        assert.equal(response?.status, 200, path);
        return response.json();
      };
      const v2 = [...parseAggregated(await get('/api', 'v2')), ...parseAggregated(await get('/apis', 'v2'))];
      const v2beta1 = [
        ...parseAggregated(await get('/api', 'v2beta1')),
        ...parseAggregated(await get('/apis', 'v2beta1')),
      ];
      assert.deepEqual(v2, v2beta1);
      assert.deepEqual(JSON.parse(JSON.stringify(groups)), JSON.parse(JSON.stringify(v2)));

      const legacy = parseClassic('APIVersions', await get('/api')).versions.map(
        (version) => `/api/${version}`,
      );
      const named = parseClassic('APIGroupList', await get('/apis')).groups.flatMap(({ name, versions }) =>
        versions.map(({ version }) => `/apis/${name}/${version}`),
      );
      const listed = [...groupVersions(v2)];
      assert.deepEqual(
        [...legacy, ...named],
        listed.map(({ path }) => path),
      );
      for (const { path, group, version } of listed) {
        const made = apiResourceListDocument(group, version, (resource) =>
          storageVersionHashes.get(storageVersionHashKey(group, version.version, resource)),
        );
        assert.deepEqual(await get(path), JSON.parse(JSON.stringify(made)), path);
      }
    });
  });
}

test('an upgrade halfway shows the versions of both servers, each group in Kubernetes’ order', () => {
  const { a, b } = recordedServers('kubernetes-1.25-1.26');
  const versions = new Map(
    mergedGroups(a, b).map(({ metadata, versions: listed = [] }) => [
      metadata.name ?? '',
      listed.map(({ version }) => version),
    ]),
  );
  assert.deepEqual(versions.get('autoscaling'), ['v2', 'v1', 'v2beta2']);
  assert.deepEqual(versions.get('flowcontrol.apiserver.k8s.io'), ['v1beta3', 'v1beta2', 'v1beta1']);
});

test('a group that one server has disabled stands where the other one has it', () => {
  const { a, b } = recordedServers('kubernetes-1.26-batch-disabled');
  const names = (groups: readonly APIGroupDiscovery[]) => groups.map(({ metadata }) => metadata.name ?? '');
  assert.ok(!names(a.groups).includes('batch'));
  assert.deepEqual(names(mergedGroups(a, b)), names(b.groups));
});

test('a recorded aggregated document that is read and written again is the same, byte for byte', () => {
  const { a, b } = recordedServers('kubernetes-1.26-batch-disabled');
  for (const { aggregated } of [a, b]) {
    for (const document of [aggregated?.api, aggregated?.apis]) {
      assert.ok(document);
      assert.equal(
        JSON.stringify(aggregatedDocument('v2beta1', [...parseAggregated(document)])),
        JSON.stringify(document),
      );
    }
  }
});

test('the classic documents of a server convert to the aggregated form that the server itself gives', () => {
  const { a, b } = recordedServers('kubernetes-1.26-batch-disabled');
  for (const { groups, aggregated } of [a, b]) {
    assert.ok(aggregated);
    const own = [...parseAggregated(aggregated.api), ...parseAggregated(aggregated.apis)];
    assert.equal(
      JSON.stringify(aggregatedDocument('v2', groups)),
      JSON.stringify(aggregatedDocument('v2', own)),
    );
  }
});
