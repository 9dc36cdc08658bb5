import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { constants, readFileSync } from 'node:fs';
import { copyFile, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { openSocket, readUntil } from '../support/clients/tls-client.ts';
import { syncCluster } from '../support/clusters/sync-cluster.ts';
import { eventually } from '../support/eventually.ts';
import { type RouterProcess, startRouterProcess } from '../support/routers/router-process.ts';

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
  // With no snapshot to come, the first request would wait for one.
  const kubeconfig = [await cluster.kubeconfig(server)];
  const reading = { kubeconfig, 'snapshot-keys': undefined, ...flags };
  const router = await startRouterProcess(context, cluster, server, reading);
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

/** Sends the second signal to a router that has heard the first: not so soon that it counts as that one heard twice. */
async function signalOnceMore(router: RouterProcess): Promise<void> {
  const heardAt = performance.now();
  await eventually(() => performance.now() - heardAt > 600);
  router.signal('SIGINT');
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
  await signalOnceMore(router);
  assert.equal(await router.ended, 130);
});

/** Puts a pipe in the place of a file. @returns resolves once somebody has opened it, who then waits for ever */
async function hang(context: TestContext, path: string): Promise<() => Promise<void>> {
  execFileSync('mkfifo', [`${path}.hangs`]);
  await rename(`${path}.hangs`, path);
  return () =>
    eventually(async () => {
      const writer = await open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => undefined);
      if (writer !== undefined) context.after(() => writer.close());
      return writer !== undefined;
    });
}

test('a file system that hangs does not keep the process: not behind a drain, and not at a second signal', async (context) => {
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.36', name: 'server' });
  for (const drain of ['0s', '1h']) {
    const file = join(cluster.directory, `peer-ca-${drain}.crt`);
    await copyFile(cluster.certificates.clusterCa, file);
    const router = await startRouterProcess(context, cluster, server, {
      'peer-ca-file': [file],
      'shutdown-delay-duration': [drain],
    });
    const isOpened = await hang(context, file);
    router.signal('SIGHUP');
    await isOpened();
    router.signal('SIGTERM');
    await eventually(() => router.log().includes('"msg":"Shutting down"'));
    if (drain === '1h') await signalOnceMore(router);
    assert.equal(await router.ended, drain === '1h' ? 130 : 0, router.log());
  }
});
