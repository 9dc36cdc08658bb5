import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { watchResources } from '../../../test/faults/laboratory/resources.ts';
import { readUntil } from '../../../test/support/clients/tls-client.ts';
import {
  clusterSnapshot,
  snapshotKey,
  startRouterUnderTest,
  startRunning,
} from '../../../test/support/routers/router-under-test.ts';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/routers/serve-options.ts';
import { startRouterWithFiles } from '../../../test/support/routers/started-router.ts';
import { clientTls } from '../../../test/support/security/certificates.ts';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { sealSnapshot } from '../../snapshot/signing/seal.ts';
import { createFileSnapshotStore } from '../files/file-snapshot-store.ts';
import { startRouter } from './start-router.ts';
import { thisMachine } from './traffic-control.ts';

test('attack: clients of a router that knows no server yet get no more connections than it has files for', async (context) => {
  const check = new ServeOptionsCheck(await serveFiles());
  const given = await check.config({ 'bind-address': ['127.0.0.1'], 'secure-port': ['0'] });
  // Files for two connections of clients.
  const machine = { ...thisMachine, usableMemory: 2 ** 30, openFiles: () => 6 };
  const openStore = () => ({ load: async () => undefined, save: async () => {} });
  const router = await startRouter({ ...given, serverId: undefined }, silentLogger, {
    edge: { machine, openStore },
  });
  context.after(() => router.close(0));
  const port = Number(new URL(router.origin).port);
  const ask = async () => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    context.after(() => socket.destroy());
    socket.on('error', () => {});
    socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
    await readUntil(socket, '200 OK');
    return socket;
  };
  const first = await ask();
  await ask();
  const closed = once(first, 'close');
  await ask();
  await closed;
});

test('a router logs that it has no snapshot yet, and when one is in use', async (context) => {
  const { logs, asUser } = await startRouterWithFiles(context);
  const about = () => logs.filter(({ message }) => /snapshot/i.test(message)).map(({ message }) => message);
  assert.deepEqual(about(), ['There is no snapshot yet: the router is not ready']);
  const snapshot = snapshotOf({ 'cp-a': { version: 'v1.36.0', serves: ['v1/pods'] } });
  assert.equal((await (await asUser()).push(snapshot)).status, 200);
  assert.deepEqual(about().slice(1), ['Snapshot in use']);
});

for (const [given, told] of [
  ['0', 100],
  ['1000', 1_000],
] as const) {
  test(`--http2-max-streams-per-connection=${given}: clients may have ${told} streams on a connection`, async (context) => {
    const { port } = await startRouterUnderTest(context, {
      flags: { 'http2-max-streams-per-connection': [given] },
    });
    const session = connect(`https://localhost:${port}`, { ...clientTls('alice') });
    context.after(() => session.destroy());
    await once(session, 'remoteSettings');
    assert.equal(session.remoteSettings.maxConcurrentStreams, told);
  });
}

test('a start that fails behind a restored snapshot leaves no connection, probe or timer behind', async (context) => {
  const running = await startRouterUnderTest(context);
  const directory = await temporaryDirectory(context);
  const file = join(directory, 'snapshot');
  const jws = await sealSnapshot(clusterSnapshot(running), snapshotKey);
  await createFileSnapshotStore(file).save(jws);
  const taken = {
    'server-id': ['local'],
    'local-server': [running.local.origin],
    'secure-port': [String(running.port)],
    'snapshot-file': [file],
    'health-check-interval': ['1s'],
  };
  const asked = running.peer.connections;
  const nothingIsLeft = watchResources();
  const log: string[] = [];
  await assert.rejects(startRunning(context, log, taken), { code: 'AddressInUse' });
  await nothingIsLeft();
  // The router itself has closed the connections on which it read.
  assert.doesNotMatch(log.join('\n'), /document of a server cannot be used/);
  assert.ok(running.peer.connections > asked, 'the restored snapshot was in use already');
});
