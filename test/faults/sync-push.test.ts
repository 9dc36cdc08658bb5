import assert from 'node:assert/strict';
import { connect as connectTcp, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { askRouter, eventuallyReturns, startSync, syncCluster } from '../support/clusters/sync-cluster.ts';
import { listenOnLoopback } from '../support/listen-on-loopback.ts';

/**
 * A TCP connection between sync job and router that is cut, once, after so many bytes on their way to the router.
 * @returns its port, and how often it was cut
 */
async function cuttingProxy(context: TestContext, routerPort: number, afterBytes: number) {
  const cuts: number[] = [];
  const proxy = createServer((client) => {
    const router = connectTcp(routerPort, '127.0.0.1').on('error', () => client.destroy());
    client.on('close', () => router.destroySoon());
    let passed = 0;
    client.on('data', (chunk: Buffer) => {
      const left = cuts.length === 0 ? afterBytes - passed : chunk.length;
      passed += chunk.length;
      router.write(chunk.subarray(0, left));
      if (left >= chunk.length) return;
      cuts.push(passed);
      // Bytes that were sent arrive, and then nothing more: half a push.
      router.end();
      client.destroy();
    });
    router.pipe(client);
    client.on('end', () => router.end());
  });
  const { port, stop } = await listenOnLoopback(proxy);
  context.after(stop);
  return { port, cuts };
}

test('a push that is cut in the middle changes nothing, and the next one arrives whole', async (context) => {
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.36', name: 'server' });
  const router = await cluster.startRouter(server);
  // The handshake takes some 4 KB towards the router, the snapshot more than 30 KB.
  const proxy = await cuttingProxy(context, Number(new URL(router.origin).port), 20_000);
  const { loop } = await startSync(context, {
    ...cluster.credentials,
    servers: [{ id: server.serverId, url: server.url }],
    routers: [{ url: `https://127.0.0.1:${proxy.port}` }],
    timing: { interval: 50 },
  });
  const client = askRouter(context, router.origin, cluster);
  const { snapshot } = await eventuallyReturns(client.status, (status) => status.snapshot !== null);
  assert.equal(proxy.cuts.length, 1);
  assert.equal(snapshot?.generation, loop.status().generation);
});
