import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitUntil } from '../../scripts/harness/wait-until.ts';
import type { APIGroupDiscovery } from '../../src/apimachinery/discovery-types.ts';
import { collectionPath, manifestOf } from './exclusive-resources.ts';
import { type GetSuite, kubectls } from './live-suite.ts';
import { type TlsCredentials, tlsRequest } from './tls-request.ts';

const doomed = 'live-doomed';
const aggregated =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

/** What the namespace controller does: everything that discovery names must be there to be emptied. */
export function registerNamespaceCases(suite: GetSuite): void {
  const [kubectl] = kubectls;
  if (kubectl === undefined) return;

  test('a namespace can be deleted: each kind of object that discovery names is emptied, through the oldest server', async (context) => {
    const { ok, cluster, newer, older } = suite();
    const [{ origin }] = cluster.sidecars;
    const ask = (path: string, options: Parameters<typeof tlsRequest>[2] = {}) =>
      tlsRequest(`${origin}${path}`, cluster.admin, options);
    await ok(kubectl, 'router-a', ['create', 'namespace', doomed]);
    await ok(kubectl, 'router-a', ['-n', doomed, 'create', 'configmap', 'content']);
    for (const resource of [newer, older].filter(({ namespaced }) => namespaced)) {
      await ok(kubectl, 'router-c', ['-n', doomed, 'create', '-f', '-'], manifestOf(resource, 'content'));
    }
    await ok(kubectl, 'router-a', ['delete', 'namespace', doomed, '--wait=false']);

    const collections = await namespacedCollections(origin, cluster.admin);
    for (const path of collections) {
      const { statusCode, text } = await ask(path, { method: 'DELETE' });
      assert.equal(statusCode, 200, `DELETE ${path}: ${text}`);
      const list = await ask(path);
      assert.deepEqual([list.statusCode, JSON.parse(list.text).items], [200, []], path);
    }
    const namespace = JSON.parse((await ask(`/api/v1/namespaces/${doomed}`)).text);
    assert.equal(namespace.status.phase, 'Terminating');
    const finalized = await ask(`/api/v1/namespaces/${doomed}/finalize`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...namespace, spec: { finalizers: [] } }),
    });
    assert.equal(finalized.statusCode, 200, finalized.text);
    for (const router of [...cluster.sidecars, cluster.gateway]) {
      await waitUntil(`${doomed} is gone through ${router.name}`, async () => {
        const path = `/api/v1/namespaces/${doomed}`;
        return (await tlsRequest(`${router.origin}${path}`, cluster.admin)).statusCode === 404;
      });
    }
    context.diagnostic(`${collections.length} collections emptied`);
  });
}

/** Every collection of a namespace that can be deleted as a whole, each group version of it. */
async function namespacedCollections(origin: string, admin: TlsCredentials): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const root of ['/api', '/apis']) {
    const { text } = await tlsRequest(`${origin}${root}`, admin, { headers: { accept: aggregated } });
    const { items } = JSON.parse(text) as { items: readonly APIGroupDiscovery[] };
    for (const { metadata, versions = [] } of items) {
      for (const { version, resources = [] } of versions) {
        const group = metadata?.name ?? '';
        const apiVersion = group === '' ? version : `${group}/${version}`;
        for (const { resource, scope, verbs = [] } of resources) {
          if (scope !== 'Namespaced' || !verbs.includes('deletecollection')) continue;
          paths.push(collectionPath({ apiVersion, resource, namespaced: true }, doomed));
        }
      }
    }
  }
  return paths;
}
