import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type DiscoverySource, discoveryAnswer } from '../../demo/example-api-server/discovery.ts';
import { isJsonObject, type JsonObject, objectAt } from '../../demo/example-api-server/kubernetes-object.ts';
import {
  type KubernetesVersionName,
  kubernetesVersions,
} from '../../demo/example-api-server/kubernetes-versions.ts';
import { ServedResources } from '../../demo/example-api-server/served-resources.ts';
import { ExampleStore } from '../../demo/example-api-server/store.ts';

const fixtures = new URL('../fixtures/', import.meta.url);

function sourceOf(name: KubernetesVersionName, disabled: readonly string[] = []): DiscoverySource {
  const version = kubernetesVersions[name];
  const served = new ServedResources(version.table, [...version.offByDefault, ...disabled]);
  return { version, served, store: new ExampleStore(), address: '127.0.0.1:6443' };
}

function document(source: DiscoverySource, path: string, accept = 'application/json'): JsonObject {
  const answer = discoveryAnswer(source, { path, accept, ifNoneMatch: undefined });
  assert.equal(answer.kind, 'whole');
  return JSON.parse(answer.kind === 'whole' ? String(answer.body) : '');
}

function recorded(path: string): JsonObject | undefined {
  const text = readFileSync(new URL(path, fixtures), 'utf8');
  return text.startsWith('{') ? JSON.parse(text) : undefined;
}

/** `apis__apps__v1.json` → `/apis/apps/v1`; only documents of group versions, and only those that were served. */
function recordedGroupVersions(folder: string): Map<string, JsonObject> {
  const files = readdirSync(new URL(folder, fixtures)).filter((file) => /^apis?__.*\.json$/.test(file));
  const documents = new Map<string, JsonObject>();
  for (const file of files) {
    const recording = recorded(`${folder}${file}`);
    const path = `/${file.replace('.json', '').replaceAll('__', '/')}`;
    if (recording?.['kind'] === 'APIResourceList') documents.set(path, recording);
  }
  return documents;
}

/**
 * With what is stored, and not in which version: events and others are stored in one that the table does not tell.
 */
function withoutStorageVersions(list: JsonObject): JsonObject {
  const resources = list['resources'];
  assert.ok(Array.isArray(resources));
  return {
    ...list,
    resources: resources
      .filter(isJsonObject)
      .map(({ storageVersionHash: hash, ...resource }) => ({ ...resource, isStored: hash !== undefined })),
  };
}

describe('the table of a version says what the recorded server of that version says', () => {
  const cases = [
    { version: '1.25', folder: 'kubernetes-1.25-1.26/a/', disabled: [] },
    { version: '1.26', folder: 'kubernetes-1.25-1.26/b/', disabled: [] },
    { version: '1.26', folder: 'kubernetes-1.26-batch-disabled/a/', disabled: ['batch/v1'] },
    { version: '1.26', folder: 'kubernetes-1.26-batch-disabled/b/', disabled: [] },
  ] as const;
  for (const { version, folder, disabled } of cases) {
    const source = sourceOf(version, disabled);
    const recordings = recordedGroupVersions(folder);

    it(`${folder}: the same group versions, but for SelfSubjectReview in 1.26`, () => {
      const served = source.served
        .groupVersions()
        .map(({ group, groupVersion }) => (group === '' ? `/api/${groupVersion}` : `/apis/${groupVersion}`));
      const turnedOn = version === '1.26' ? ['/apis/authentication.k8s.io/v1alpha1'] : [];
      assert.deepEqual(served.sort(), [...recordings.keys(), ...turnedOn].sort());
    });

    for (const [path, recording] of recordings) {
      it(`${folder}: ${path}`, () => {
        assert.deepEqual(withoutStorageVersions(document(source, path)), withoutStorageVersions(recording));
      });
    }
  }
});

describe('aggregated discovery of 1.26 is the recorded one', () => {
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';
  // APIs that are turned on beyond the recorded server are turned off for the comparison.
  const off = ['authentication.k8s.io/v1alpha1'];
  for (const [folder, disabled] of [
    ['kubernetes-1.26-batch-disabled/a/', ['batch/v1', ...off]],
    ['kubernetes-1.26-batch-disabled/b/', off],
  ] as const) {
    for (const path of ['/api', '/apis']) {
      it(`${folder}${path}`, () => {
        const recording = recorded(`${folder}aggregated_${path.slice(1)}.json`);
        assert.deepEqual(document(sourceOf('1.26', disabled), path, accept), recording);
      });
    }
  }
});

describe('the table of 1.36', () => {
  const { served } = sourceOf('1.36');

  it('has stable group versions only', () => {
    const unstable = served.groupVersions().filter(({ version }) => !/^v\d+$/.test(version));
    assert.deepEqual(unstable, []);
  });

  it('serves what came since 1.26 and no longer what went', () => {
    const pods = served.find('', 'v1', 'pods');
    assert.ok(pods?.subresources.some(({ name }) => name === 'resize'));
    assert.equal(served.find('flowcontrol.apiserver.k8s.io', 'v1', 'flowschemas')?.scope, 'Cluster');
    assert.deepEqual(served.find('resource.k8s.io', 'v1', 'resourceclaims')?.scope, 'Namespaced');
    assert.deepEqual(served.find('authentication.k8s.io', 'v1', 'selfsubjectreviews')?.verbs, ['create']);
    assert.equal(served.groupVersion('flowcontrol.apiserver.k8s.io', 'v1beta3'), undefined);
    assert.equal(served.groupVersion('storage.k8s.io', 'v1beta1'), undefined);
    const policies = served.find('networking.k8s.io', 'v1', 'networkpolicies');
    assert.deepEqual(policies?.subresources, []);
  });

  it('names the singular of each resource in discovery', () => {
    const source = sourceOf('1.36');
    const resources = document(source, '/apis/apps/v1')['resources'];
    assert.ok(Array.isArray(resources));
    const deployments = resources.find((resource) => objectAt(resource)['name'] === 'deployments');
    assert.equal(objectAt(deployments)['singularName'], 'deployment');
  });
});
