import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectionPath, kubectlName, manifestOf } from './exclusive-resources.ts';
import { type GetSuite, kubectls, type LiveSuite } from './live-suite.ts';
import { startObjectWriter } from './object-writer.ts';
import { describeReads, startReadLoop } from './read-loop.ts';
import { tlsRequest } from './tls-request.ts';
import { waitUntil } from './wait-until.ts';
import {
  describeWatch,
  lostOf,
  startWatchFollower,
  type WatchedCollection,
  type WatchFollower,
} from './watch-follower.ts';

const scope = 'live-upgrade';
const fixed = 'upgrade-fixed';

/** The rest of the upgrade, with clients at work: through the routers, through the gateway, and without either. */
export function registerUpgradeCases(suite: GetSuite): void {
  const [kubectl] = kubectls;
  if (kubectl === undefined) return;

  test('a rolling upgrade: no wrong 404 and no lost watch event through the routers, while a bare load balancer has both', async (context) => {
    const { ok, run, cluster, newer, older } = suite();
    const { admin, newest } = cluster;
    const [a, b, c] = cluster.servers;
    await ok(kubectl, 'router-a', ['create', 'namespace', scope]);
    await ok(kubectl, 'router-a', ['-n', scope, 'create', 'configmap', fixed]);
    for (const resource of [newer, older]) {
      const place = resource.namespaced ? ['-n', scope] : [];
      await ok(kubectl, 'gateway', [...place, 'create', '-f', '-'], manifestOf(resource, fixed));
    }

    const everywhere = {
      routers: `https://127.0.0.1:${cluster.forwarders.routers.port}`,
      gateway: cluster.gateway.origin,
      bare: `https://127.0.0.1:${cluster.forwarders.apiServers.port}`,
    };
    // Once the last server that serves it has gone, the older resource is gone too, and rightly so.
    let olderIsServed = true;
    const paths = () => [
      `/api/v1/namespaces/${scope}/configmaps/${fixed}`,
      `${collectionPath(newer, scope)}/${fixed}`,
      ...(olderIsServed ? [`${collectionPath(older, scope)}/${fixed}`] : []),
    ];
    const configMaps: WatchedCollection = {
      path: `/api/v1/namespaces/${scope}/configmaps`,
      object: { apiVersion: 'v1', kind: 'ConfigMap', spec: {} },
    };
    const newerOnes: WatchedCollection = { path: collectionPath(newer, scope), object: newer };
    const names = Object.keys(everywhere) as (keyof typeof everywhere)[];
    const reads = names.map((name) => startReadLoop(everywhere[name], paths, admin));
    const watches = await Promise.all(
      names.flatMap((name) =>
        [configMaps, newerOnes].map(async (collection) => ({
          name,
          collection,
          follower: await startWatchFollower(everywhere[name], collection, admin),
        })),
      ),
    );
    const writers = [configMaps, newerOnes].map((collection) => ({
      collection,
      writer: startObjectWriter(everywhere.routers, collection, admin),
    }));
    const commands = { run: 0, failed: [] as string[] };
    let upgraded = false;
    const kubectlLoop = (async () => {
      while (!upgraded) {
        for (const args of [
          ['get', kubectlName(newer), fixed, ...(newer.namespaced ? ['-n', scope] : [])],
          ['get', 'configmap', fixed, '-n', scope],
          ['api-resources'],
        ]) {
          const { code, stderr } = await run(kubectl, 'routers', args);
          commands.run++;
          if (code !== 0 || stderr !== '') commands.failed.push(`${args.join(' ')}: ${stderr}`);
        }
      }
    })();

    const lostBy = (name: string): readonly string[] =>
      watches.flatMap(({ name: by, collection, follower }) => {
        const writer = writers.find((entry) => entry.collection === collection)?.writer;
        return by === name && writer !== undefined ? lostOf(follower, writer.written) : [];
      });
    const stops: boolean[] = [];
    try {
      for (const server of [b, a]) {
        if (server === a) {
          olderIsServed = false;
          // What is under way is answered while the server is still there.
          await Promise.all(reads.map((loop) => loop.nextTurn()));
        }
        stops.push(await server.stop());
        await server.launch(newest);
        await server.untilReady();
        await untilRoutersKnow(suite(), server.serverId);
      }
      await Promise.all(writers.map(({ writer }) => writer.stop()));
      upgraded = true;
      await kubectlLoop;
      await waitUntil(
        'every event has come through the routers',
        () => lostBy('routers').length === 0,
        15_000,
      );
      await waitUntil(
        'every event has come through the gateway',
        () => lostBy('gateway').length === 0,
        15_000,
      );
    } finally {
      upgraded = true;
      await Promise.all([
        ...reads.map((loop) => loop.stop()),
        ...writers.map(({ writer }) => writer.stop()),
        ...watches.map(({ follower }) => follower.stop()),
      ]);
      const written = writers.map(({ writer }) => writer.written.length);
      context.diagnostic(
        `servers that ended by themselves on SIGTERM: ${stops.filter(Boolean).length} of ${stops.length}`,
      );
      context.diagnostic(
        `written: ${written.join(' + ')} objects, ${writers.map(({ writer }) => writer.retries()).join(' + ')} attempts made again`,
      );
      context.diagnostic(`kubectl: ${commands.run} commands, ${commands.failed.length} failed`);
      names.forEach((name, index) => {
        const loop = reads[index];
        if (loop !== undefined) context.diagnostic(`reads, ${name}: ${describeReads(loop)}`);
        for (const { collection, follower } of watches.filter((watch) => watch.name === name)) {
          context.diagnostic(`watch, ${name}, ${collection.object.kind}: ${describeWatch(follower)}`);
        }
        context.diagnostic(`events that never came, ${name}: ${lostBy(name).length}`);
      });
    }

    const [throughRouters, throughGateway, bare] = reads;
    assert.ok(throughRouters !== undefined && throughGateway !== undefined && bare !== undefined);
    for (const [name, loop] of [
      ['routers', throughRouters],
      ['gateway', throughGateway],
    ] as const) {
      assert.ok(loop.counts.ok > 0, name);
      assert.equal(loop.counts.notFound, 0, `wrong 404s of reads, ${name}`);
      assert.equal(notFoundOf(watches, name), 0, `wrong 404s of watches, ${name}`);
      assert.deepEqual(lostBy(name), [], `lost events, ${name}`);
    }
    assert.deepEqual(commands.failed, []);
    assert.ok(bare.counts.notFound > 0, 'without routers there are wrong 404s');
    assert.deepEqual(
      [a, b, c].map((server) => server.binary().version),
      [newest.version, newest.version, newest.version],
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

function notFoundOf(
  watches: readonly { readonly name: string; readonly follower: WatchFollower }[],
  name: string,
): number {
  return watches
    .filter((watch) => watch.name === name)
    .reduce((sum, { follower }) => sum + follower.counts.notFound, 0);
}

/** Waits until every router sends a server its requests again. */
async function untilRoutersKnow({ cluster }: LiveSuite, serverId: string): Promise<void> {
  for (const { name, origin } of [...cluster.sidecars, cluster.gateway]) {
    await waitUntil(`${name} finds ${serverId} healthy`, async () => {
      const { text } = await tlsRequest(`${origin}/.mixed-version-proxy/v1/status`, cluster.admin);
      const { servers } = JSON.parse(text) as {
        servers: { id: string; stale: boolean; health: { status: string } }[];
      };
      const server = servers.find(({ id }) => id === serverId);
      return server?.health.status === 'healthy' && !server.stale;
    });
  }
}
