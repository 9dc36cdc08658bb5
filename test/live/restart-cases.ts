import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitUntil } from '../../scripts/harness/wait-until.ts';
import { collectionPath } from './exclusive-resources.ts';
import { type GetSuite, kubectls, namespace } from './live-suite.ts';
import { startObjectWriter } from './object-writer.ts';
import { describeReads, startReadLoop } from './read-loop.ts';
import { tlsRequest } from './tls-request.ts';
import { describeWatch, lostOf, startWatchFollower, type WatchedCollection } from './watch-follower.ts';

/** The server behind a router goes and comes back; whoever uses the router goes on. */
export function registerRestartCases(suite: GetSuite): void {
  const [kubectl] = kubectls;
  if (kubectl === undefined) return;

  test('a watch through the router of a server that is restarted loses no event', async (context) => {
    const { ok, cluster } = suite();
    const [server] = cluster.servers;
    const [{ origin }] = cluster.sidecars;
    const scope = `${namespace}-restart`;
    await ok(kubectl, 'router-a', ['create', 'namespace', scope]);
    const configMaps: WatchedCollection = {
      path: `/api/v1/namespaces/${scope}/configmaps`,
      object: { apiVersion: 'v1', kind: 'ConfigMap', spec: {} },
    };
    const watch = await startWatchFollower(origin, configMaps, cluster.admin);
    const writer = startObjectWriter(origin, configMaps, cluster.admin);
    const writtenMore = (count: number) => {
      const from = writer.written.length;
      return waitUntil(`${count} more objects are written`, () => writer.written.length >= from + count);
    };
    try {
      await writtenMore(5);
      await server.stop();
      await writtenMore(10);
      await server.launch(server.binary());
      await server.untilReady();
      await writtenMore(5);
      await writer.stop();
      await waitUntil('every event has come', () => lostOf(watch, writer.written).length === 0, {
        within: 15_000,
      });
    } finally {
      await Promise.all([writer.stop(), watch.stop()]);
    }
    assert.deepEqual(lostOf(watch, writer.written), []);
    assert.equal(watch.counts.notFound, 0);
    assert.ok(watch.counts.opened > 1, 'the watch went on at another server');
    context.diagnostic(
      `${writer.written.length} objects, ${writer.retries()} writes made again; ${describeWatch(watch)}`,
    );
  });

  test('while the local server is down its router answers from the others, and says so', async (context) => {
    const { ok, run, cluster, newer, older } = suite();
    const [server] = cluster.servers;
    const [{ origin }] = cluster.sidecars;
    const localHealth = async (): Promise<string> => {
      const { text } = await tlsRequest(`${origin}/.mixed-version-proxy/v1/status`, cluster.admin);
      return JSON.parse(text).localServer.status;
    };
    await waitUntil('the router finds its server healthy', async () => (await localHealth()) === 'healthy');
    const paths = ['/api/v1/namespaces/default', '/version', '/apis', '/openapi/v3'];
    const reads = startReadLoop(
      origin,
      () => [...paths, collectionPath(newer), collectionPath(older)],
      cluster.admin,
    );
    try {
      await server.stop();
      await waitUntil('the router finds it unhealthy', async () => (await localHealth()) === 'unhealthy');
      assert.equal((await tlsRequest(`${origin}/readyz`, cluster.admin)).statusCode, 200);
      for (const resource of [newer, older]) {
        await ok(kubectl, 'router-a', ['get', '--raw', collectionPath(resource)]);
      }
      await ok(kubectl, 'router-a', ['get', 'namespace', namespace, '-o', 'name']);
      await ok(kubectl, 'router-a', ['api-resources', '-o', 'name']);
      const bare = await run(kubectl, 'direct-a', ['get', 'namespace', namespace]);
      assert.equal(bare.code, 1, 'the server itself is down');
      await server.launch(server.binary());
      await server.untilReady();
      await waitUntil('the router finds it healthy again', async () => (await localHealth()) === 'healthy');
    } finally {
      await reads.stop();
      // What comes next finds every server as it was.
      if (!server.isRunning()) await server.launch(server.binary());
    }
    assert.equal(reads.counts.notFound, 0);
    context.diagnostic(`reads through its router: ${describeReads(reads)}`);
  });
}
