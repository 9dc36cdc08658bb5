import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tlsRequest } from '../../test/support/clients/tls-request.ts';
import { type GetSuite, kubectls, routerContexts } from './live-suite.ts';

/** The whole cluster is seen through every router, in the same words. */
export function registerDiscoveryCases(suite: GetSuite): void {
  for (const kubectl of kubectls) {
    for (const command of ['api-resources', 'api-versions']) {
      test(`kubectl ${kubectl.version} ${command}: byte for byte the same through every router`, async () => {
        const { ok } = suite();
        const [first, ...others] = await Promise.all(
          routerContexts.map((context) => ok(kubectl, context, [command])),
        );
        for (const other of others) assert.equal(other, first);
      });
    }

    test(`kubectl ${kubectl.version} explain: either one's own through every router`, async () => {
      const { ok, newer, older } = suite();
      for (const context of routerContexts) {
        for (const { resource, apiVersion, kind } of [newer, older]) {
          const text = await ok(kubectl, context, [
            'explain',
            `${resource}.spec`,
            `--api-version=${apiVersion}`,
          ]);
          assert.match(text, new RegExp(`KIND:\\s+${kind}`), `${context} ${resource}`);
        }
      }
    });
  }

  test('OpenAPI v2: through every router the document of a server of the newest version', async () => {
    const { cluster, newer } = suite();
    for (const { name, origin } of [...cluster.sidecars, cluster.gateway]) {
      const { statusCode, text } = await tlsRequest(`${origin}/openapi/v2`, cluster.admin);
      assert.equal(statusCode, 200, name);
      const { paths } = JSON.parse(text) as { paths: Record<string, unknown> };
      assert.ok(`/apis/${newer.apiVersion}/${newer.resource}` in paths, name);
    }
  });

  test('OpenAPI v3: one index through every router, and every document that it names is there', async (context) => {
    const { cluster, older } = suite();
    const indexes = await Promise.all(
      [...cluster.sidecars, cluster.gateway].map(
        async ({ origin }) => (await tlsRequest(`${origin}/openapi/v3`, cluster.admin)).text,
      ),
    );
    assert.equal(new Set(indexes).size, 1);
    const { paths } = JSON.parse(indexes[0] ?? '') as {
      paths: Record<string, { serverRelativeURL: string }>;
    };
    assert.ok(`apis/${older.apiVersion}` in paths);
    const [router] = cluster.sidecars;
    for (const { serverRelativeURL } of Object.values(paths)) {
      const { statusCode } = await tlsRequest(`${router.origin}${serverRelativeURL}`, cluster.admin);
      assert.equal(statusCode, 200, serverRelativeURL);
    }
    context.diagnostic(`${Object.keys(paths).length} OpenAPI v3 documents`);
  });

  test('every group version that /apis names through the router of the oldest server has its document', async (context) => {
    const { cluster } = suite();
    const [router] = cluster.sidecars;
    const { text } = await tlsRequest(`${router.origin}/apis`, cluster.admin);
    const { groups } = JSON.parse(text) as { groups: { versions: { groupVersion: string }[] }[] };
    const groupVersions = groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => groupVersion));
    for (const groupVersion of groupVersions) {
      const { statusCode } = await tlsRequest(`${router.origin}/apis/${groupVersion}`, cluster.admin);
      assert.equal(statusCode, 200, groupVersion);
    }
    context.diagnostic(`${groupVersions.length} group versions`);
  });
}
