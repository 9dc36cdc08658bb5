import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { eventually } from '../support/eventually.ts';
import { type RouterProcess, startRouterProcess } from '../support/router-process.ts';
import { syncCluster } from '../support/sync-cluster.ts';
import { openSocket, readUntil } from '../support/tls-client.ts';

interface Watching {
  readonly router: RouterProcess;
  readonly watch: TLSSocket;
}

/** A router process through which an administrator watches. */
async function startWatching(
  context: TestContext,
  flags: Readonly<Record<string, readonly string[]>>,
): Promise<Watching> {
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.36', name: 'server' });
  const router = await startRouterProcess(context, cluster, server, flags);
  const { admin, clusterCa } = cluster.certificates;
  const read = (path: string): string => readFileSync(path, 'utf8');
  const watch = await openSocket(context, {
    port: router.port,
    ca: read(clusterCa),
    pair: {
      certificate: read(admin.certificate),
      chain: read(admin.certificate),
      privateKey: read(admin.privateKey),
    },
  });
  watch.write('GET /api/v1/namespaces?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await readUntil(watch, '"type":"ADDED"');
  return { router, watch };
}

/** Everything that still comes. */
async function restOf(socket: TLSSocket): Promise<string> {
  return Buffer.concat(await socket.toArray()).toString('latin1');
}

test('SIGTERM: a watch ends with its last chunk, and the process with 0', async (context) => {
  const { router, watch } = await startWatching(context, {
    'shutdown-watch-termination-grace-period': ['500ms'],
  });
  router.signal('SIGTERM');
  assert.match(await restOf(watch), /\n\r\n0\r\n\r\n$/);
  assert.equal(await router.ended, 0);
  assert.match(router.log(), /"msg":"Shutting down"/);
});

test('a second signal ends a drain at once, with the code that a shell knows', async (context) => {
  const { router, watch } = await startWatching(context, {
    'shutdown-watch-termination-grace-period': ['1h'],
  });
  watch.on('error', () => {});
  router.signal('SIGTERM');
  await eventually(() => router.log().includes('"msg":"Draining"'));
  let code: number | null | undefined;
  void router.ended.then((ended) => {
    code = ended;
  });
  // Soon after the first it counts as that one heard twice: until it counts as the second.
  await eventually(() => {
    if (code === undefined) router.signal('SIGINT');
    return code !== undefined;
  });
  assert.equal(code, 130);
});
