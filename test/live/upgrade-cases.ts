import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../scripts/harness/wait-until.ts';
import { collectionPath, manifestOf } from './exclusive-resources.ts';
import { describeFields, type FieldLoop, startFieldLoop } from './field-loop.ts';
import { type GetSuite, kubectls, type LiveSuite } from './live-suite.ts';
import { newFieldOf } from './new-field.ts';
import { countEvaded, makePolicies } from './policy-writes.ts';
import { tlsRequest } from './tls-request.ts';
import { startUpgradeClients } from './upgrade-clients.ts';

const scope = 'live-upgrade';
const fixed = 'upgrade-fixed';
/** For the last events to come in. Milliseconds. */
const eventDeadline = 15_000;
/** How long the server that is killed stays away. Milliseconds. */
const awayAfterKill = 1_000;

/** The rest of the upgrade, with clients at work: through the routers, through the gateway, and without either. */
export function registerUpgradeCases(suite: GetSuite): void {
  const [kubectl] = kubectls;
  if (kubectl === undefined) return;

  test('a rolling upgrade: no wrong 404 and no lost watch event through the routers, while a bare load balancer gives 404s', async (context) => {
    const { ok, cluster, newer, older } = suite();
    const [a, b] = cluster.servers;
    await ok(kubectl, 'router-a', ['create', 'namespace', scope]);
    await ok(kubectl, 'router-a', ['-n', scope, 'create', 'configmap', fixed]);
    for (const resource of [newer, older]) {
      const place = resource.namespaced ? ['-n', scope] : [];
      await ok(kubectl, 'gateway', [...place, 'create', '-f', '-'], manifestOf(resource, fixed));
    }
    const clients = await startUpgradeClients(suite(), { scope, fixed, kubectl });
    const fields = startFieldLoops(suite(), (what) => context.diagnostic(what));
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
        if (server === b) await policiesHold(suite(), context);
      }
      await settle(fields);
      await clients.stopWriting();
      for (const way of ['routers', 'gateway'] as const) {
        await waitUntil(`every event has come through: ${way}`, () => clients.lost(way).length === 0, {
          within: eventDeadline,
        });
      }
    } finally {
      await clients.stop();
      await Promise.all(Object.values(fields).map((loop) => loop.stop()));
      for (const line of clients.describe()) context.diagnostic(line);
      for (const [way, loop] of Object.entries(fields)) {
        context.diagnostic(`fields, ${way}: ${describeFields(loop)}`);
      }
    }

    for (const way of ['routers', 'gateway'] as const) {
      assert.ok(clients.reads[way].counts.ok > 0, way);
      assert.equal(clients.reads[way].counts.notFound, 0, `wrong 404s of reads, ${way}`);
      assert.equal(clients.watchesNotFound(way), 0, `wrong 404s of watches, ${way}`);
      assert.deepEqual(clients.lost(way), [], `lost events, ${way}`);
    }
    for (const way of ['routers', 'gateway']) {
      assert.equal(fields[way]?.counts.lost ?? 0, 0, `objects that lost a field, ${way}`);
      assert.equal(fields[way]?.counts.hidden ?? 0, 0, `reads that hid a field, ${way}`);
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
      return (
        server?.health.status === 'healthy' && !server.stale && (preferredVersion.coming ?? null) === null
      );
    });
  }
}

/**
 * Objects with a field that only the newest version knows: by any of the routers, by the gateway, and without either: at a
 * random server, and through a TCP load balancer. None where no field is known that tells the versions apart.
 */
function startFieldLoops(
  { cluster }: LiveSuite,
  onFault: (what: string) => void,
): Readonly<Record<string, FieldLoop>> {
  const { sidecars, gateway, servers, forwarders, admin } = cluster;
  const newest = servers[2];
  const field = newFieldOf([cluster.oldest, cluster.newest]);
  if (field === undefined) return {};
  const common = { field, truth: () => newest.url, namespace: scope, credentials: admin };
  const start = (prefix: string, origins: readonly string[]) =>
    startFieldLoop({
      ...common,
      origins,
      prefix,
      onFault: (what) => {
        if (prefix === 'routers' || prefix === 'gateway') onFault(what);
      },
    });
  return {
    routers: start('routers', [...sidecars.map(({ origin }) => origin), gateway.origin]),
    gateway: start('gateway', [gateway.origin]),
    bare: start(
      'bare',
      servers.map(({ url }) => url),
    ),
    balancer: start('balancer', [`https://127.0.0.1:${forwarders.apiServers.port}`]),
  };
}

/** Until objects have been stored with the field after the last change, or it is clear that no version keeps it. */
async function settle(fields: Readonly<Record<string, FieldLoop>>): Promise<void> {
  const loops = Object.values(fields);
  const before = loops.map(({ counts }) => counts.rounds);
  await waitUntil('objects have been written after the upgrade', () =>
    loops.every(({ counts }, index) => counts.rounds >= (before[index] ?? 0) + 20),
  );
}

/** Most servers know a kind of policy by now, and one does not: no write may evade a policy through that one. */
async function policiesHold({ cluster }: LiveSuite, context: TestContext): Promise<void> {
  const { servers, sidecars, gateway, admin } = cluster;
  const [oldest, upgraded, newest] = servers;
  const policies = await makePolicies([newest.url, upgraded.url], oldest.url, scope, admin);
  if (policies.length === 0) context.diagnostic('policies: both versions know the same kinds');
  const routers = [...sidecars, gateway].map(({ origin }) => origin);
  const bare = servers.map(({ url }) => url);
  for (const policy of policies) {
    const { kind } = policy;
    const name = kind.toLowerCase();
    try {
      const through = await countEvaded(policy, routers, scope, admin, name, 1_000);
      const straight = await countEvaded(policy, bare, scope, admin, `${name}-bare`, 300);
      context.diagnostic(
        `${kind}: ${through} of 1000 writes evaded it through the routers, ${straight} of 300 straight to the servers`,
      );
      assert.equal(through, 0);
      assert.ok(straight > 0, 'without routers it is evaded');
    } finally {
      await policy.remove();
    }
  }
}
