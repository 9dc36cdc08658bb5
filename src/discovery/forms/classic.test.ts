import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { recordedServers } from '../../../test/support/api-servers/recorded-cluster.ts';
import { type ClassicDiscovery, groupsFromClassic, parseClassic } from './classic.ts';

function groupList(groups: Readonly<Record<string, readonly string[]>>) {
  return parseClassic('APIGroupList', {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: Object.entries(groups).map(([name, versions]) => ({
      name,
      versions: versions.map((version) => ({ groupVersion: `${name}/${version}`, version })),
    })),
  });
}

function resourceList(...resources: readonly object[]) {
  return parseClassic('APIResourceList', {
    kind: 'APIResourceList',
    groupVersion: 'example.com/v1',
    resources,
  });
}

const widgets = { name: 'widgets', singularName: 'widget', namespaced: true, kind: 'Widget', verbs: ['get'] };

function convert(rest: Partial<ClassicDiscovery>) {
  return groupsFromClassic({ apiGroupList: groupList({}), apiResourceLists: new Map(), ...rest });
}

test('group versions that /apis lists and the server answers with 404 are not its own', () => {
  const { a } = recordedServers('kubernetes-1.25-1.26');
  const listed = parseClassic('APIGroupList', a.classic.apis).groups.flatMap(({ name, versions }) =>
    versions.map(({ version }) => `${name}/${version}`),
  );
  assert.ok(listed.includes('flowcontrol.apiserver.k8s.io/v1beta3'));
  const own = a.groups.flatMap(({ metadata, versions = [] }) =>
    versions.map(({ version }) => `${metadata.name}/${version}`),
  );
  assert.ok(!own.includes('flowcontrol.apiserver.k8s.io/v1beta3'));
  assert.ok(own.includes('flowcontrol.apiserver.k8s.io/v1beta1'));
});

test('a group none of whose lists was given is not there at all, the legacy group neither', () => {
  const apiVersions = parseClassic('APIVersions', { kind: 'APIVersions', versions: ['v1'] });
  assert.deepEqual(convert({ apiVersions, apiGroupList: groupList({ 'example.com': ['v1'] }) }), []);
});

test('a group version that is there but cannot be read now is Stale and not gone', () => {
  const groups = convert({
    apiGroupList: groupList({ 'metrics.k8s.io': ['v1beta1'], 'gone.example.com': ['v1'] }),
    unavailable: new Set(['metrics.k8s.io/v1beta1']),
  });
  assert.deepEqual(groups, [
    { metadata: { name: 'metrics.k8s.io' }, versions: [{ version: 'v1beta1', freshness: 'Stale' }] },
  ]);
});

describe('subresources', () => {
  const resources = (...listed: readonly object[]) =>
    convert({
      apiGroupList: groupList({ 'example.com': ['v1'] }),
      apiResourceLists: new Map([['example.com/v1', resourceList(...listed)]]),
    })[0]?.versions?.[0]?.resources;

  test('move under their resource, wherever it stands', () => {
    const status = { ...widgets, name: 'widgets/status', verbs: ['update'] };
    const below = {
      subresource: 'status',
      responseKind: { group: '', version: '', kind: 'Widget' },
      verbs: ['update'],
    };
    for (const listed of [
      [widgets, status],
      [status, widgets],
    ]) {
      assert.deepEqual(resources(...listed), [
        {
          resource: 'widgets',
          responseKind: { group: '', version: '', kind: 'Widget' },
          scope: 'Namespaced',
          singularResource: 'widget',
          verbs: ['get'],
          subresources: [below],
        },
      ]);
    }
  });

  test('without their resource get a parent that no client takes for a resource', () => {
    const [parent] = resources({ ...widgets, name: 'pods/cpu_usage', namespaced: false }) ?? [];
    assert.equal(parent?.resource, 'pods');
    assert.equal(parent?.scope, 'Cluster');
    assert.deepEqual(parent?.responseKind, { group: '', version: '', kind: '' });
    assert.deepEqual(
      parent?.subresources?.map(({ subresource }) => subresource),
      ['cpu_usage'],
    );
  });
});

test('classic documents of another kind, or broken, are refused', () => {
  const status = { kind: 'Status', apiVersion: 'v1' };
  for (const kind of ['APIVersions', 'APIGroupList', 'APIResourceList'] as const) {
    assert.throws(() => parseClassic(kind, status), {
      name: 'DiscoveryDocumentError',
      message: /^This is no /,
    });
    assert.throws(() => parseClassic(kind, '404 page not found'), /^DiscoveryDocumentError: This is no /);
  }
  assert.throws(() => parseClassic('APIVersions', { kind: 'APIVersions' }), /versions/);
  assert.throws(
    () => parseClassic('APIGroupList', { kind: 'APIGroupList', groups: [{ name: '', versions: [] }] }),
    /groups\[0\]\.name/,
  );
  assert.throws(
    () => parseClassic('APIResourceList', { kind: 'APIResourceList', groupVersion: 'v1', resources: [{}] }),
    /resources\[0\]\.name/,
  );
});
