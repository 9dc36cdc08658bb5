import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tlsRequest } from '../../test/support/clients/tls-request.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { type GetSuite, kubectls, type LiveSuite } from './live-suite.ts';
import { collectionPath, manifestOf } from './loops/exclusive-resources.ts';
import { startUpgradeClients } from './loops/upgrade-clients.ts';

const scope = 'live-upgrade';
const fixed = 'upgrade-fixed';
/** For the last events to come in. Milliseconds. */
const eventDeadline = 15_000;
/** How long the server that is killed stays away. Milliseconds. */
const awayAfterKill = 1_000;

/**
 * The rest of the upgrade, with clients at work: through the routers, through the gateway, and without either. What becomes
 * of new fields and policies: upgrade/main.ts.
 */
export function registerUpgradeCases(suite: GetSuite): void {
  const [kubectl] = kubectls;
  if (kubectl === undefined) return;

  test('a rolling upgrade: no wrong 404 or 403 and no lost watch event through the routers, while a bare load balancer gives 404s', async (context) => {
    const { ok, cluster, newer, older } = suite();
    const [a, b] = cluster.servers;
    await ok(kubectl, 'router-a', ['create', 'namespace', scope]);
    await ok(kubectl, 'router-a', ['-n', scope, 'create', 'configmap', fixed]);
    for (const resource of [newer, older]) {
      const place = resource.namespaced ? ['-n', scope] : [];
      await ok(kubectl, 'gateway', [...place, 'create', '-f', '-'], manifestOf(resource, fixed));
    }
    const clients = await startUpgradeClients(suite(), { scope, fixed, kubectl });
    try {
      for (const server of [b, a]) {
        if (server === a) await clients.leaveOlder();
        if (server === b) {
          const wasEnough = await server.stop();
          context.diagnostic(`server ${server.name} ended ${wasEnough ? 'in order' : 'by SIGKILL'}`);
        } else {
          await server.kill();
          await sleep(awayAfterKill);
        }
        await server.launch(cluster.newest);
        await server.untilReady();
        await untilRoutersKnow(suite(), server.serverId);
      }
      await clients.stopWriting();
      for (const way of ['routers', 'gateway'] as const) {
        await waitUntil(`every event has come through: ${way}`, () => clients.lost(way).length === 0, {
          within: eventDeadline,
        });
      }
    } finally {
      await clients.stop();
      for (const line of clients.describe()) context.diagnostic(line);
    }

    for (const way of ['routers', 'gateway'] as const) {
      assert.ok(clients.reads[way].counts.ok > 0, way);
      assert.equal(clients.reads[way].counts.notFound, 0, `wrong 404s of reads, ${way}`);
      assert.equal(clients.reads[way].counts.forbidden, 0, `wrong 403s of reads, ${way}`);
      assert.equal(clients.watchesNotFound(way), 0, `wrong 404s of watches, ${way}`);
      assert.deepEqual(clients.lost(way), [], `lost events, ${way}`);
    }
    assert.deepEqual(clients.commands.failed, []);
    const bare = clients.reads.bare.counts.notFound + clients.watchesNotFound('bare');
    assert.ok(bare > 0, 'without routers there are wrong 404s');
    assert.deepEqual(
      cluster.servers.map((server) => server.binary().version),
      cluster.servers.map(() => cluster.newest.version),
    );
  });

  test('after the upgrade every server has the newer resource, and the older one is gone everywhere', async () => {
    const { cluster, newer, older } = suite();
    for (const { name, origin } of [...cluster.sidecars, cluster.gateway]) {
      const code = async (path: string) => (await tlsRequest(`${origin}${path}`, cluster.admin)).statusCode;
      assert.equal(await code(collectionPath(newer)), 200, name);
      await waitUntil(`${name} says 404`, async () => (await code(collectionPath(older))) === 404);
    }
    for (const { url } of cluster.servers) {
      assert.equal((await tlsRequest(`${url}${collectionPath(newer)}`, cluster.admin)).statusCode, 200);
    }
  });
}

/** Waits until every router sends a server its requests again, and no change of the preferred version is to come. */
async function untilRoutersKnow({ cluster }: LiveSuite, serverId: string): Promise<void> {
  for (const { name, origin } of [...cluster.sidecars, cluster.gateway]) {
    await waitUntil(`${name} finds ${serverId} healthy`, async () => {
      const { text } = await tlsRequest(`${origin}/.mixed-version-proxy/v1/status`, cluster.admin);
      const { servers, preferredVersion } = JSON.parse(text) as {
        servers: { id: string; stale: boolean; health: { status: string } }[];
        preferredVersion: { coming?: object | null };
      };
      const server = servers.find(({ id }) => id === serverId);
      return server?.health.status === 'ready' && !server.stale && (preferredVersion.coming ?? null) === null;
    });
  }
}
