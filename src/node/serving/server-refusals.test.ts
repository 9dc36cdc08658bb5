import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { connect as connectTcp, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { servingAuthority, startPeer } from '../../../test/support/api-servers/node-exchange.ts';
import { askHttp1, rawClient, readToEnd } from '../../../test/support/clients/node-clients.ts';
import { readUntil } from '../../../test/support/clients/tls-client.ts';
import { startRouter } from '../../../test/support/routers/node-router.ts';
import { mirror, startServer as start, startServer } from '../../../test/support/routers/node-server.ts';
import {
  clusterSnapshot,
  type RouterUnderTest,
  snapshotKey,
  startRouterUnderTest,
} from '../../../test/support/routers/router-under-test.ts';
import { clientTls } from '../../../test/support/security/certificates.ts';
import { sealSnapshot } from '../../snapshot/signing/seal.ts';
import { OneAtATime } from './connections.ts';

test('HTTP without TLS is answered as Go’s servers do, and the connection ends', async (context) => {
  const { port } = await startServer(context, mirror);
  for (const request of ['GET /version HTTP/1.1\r\nHost: a\r\n\r\n', 'POST / HTTP/1.0\r\n\r\n']) {
    // The client keeps its own half open: the router ends the connection all the same.
    const client = connectTcp({ host: '127.0.0.1', port, allowHalfOpen: true });
    context.after(() => client.destroy());
    client.write(request);
    assert.equal(
      await text(client),
      'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n',
    );
  }
  assert.equal((await askHttp1(port)).status, 200);
});

test('what is neither TLS nor HTTP gets no HTTP', async (context) => {
  const { port } = await startServer(context, mirror);
  const client = connectTcp({ host: '127.0.0.1', port });
  context.after(() => client.destroy());
  client.on('error', () => {});
  client.end('SSH-2.0-OpenSSH_9.2\r\n');
  assert.ok(!(await text(client).catch(() => '')).includes('HTTP/'));
});

async function agreedOn(context: TestContext, port: number, offered: string[]): Promise<unknown> {
  const socket = connectTls({ port, host: '127.0.0.1', ALPNProtocols: offered, rejectUnauthorized: false });
  context.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket.alpnProtocol;
}

test('clients are offered HTTP/2 first, and HTTP/1.1', async (context) => {
  const { port } = await startServer(context, mirror);
  assert.equal(await agreedOn(context, port, ['http/1.1', 'h2']), 'h2');
  assert.equal(await agreedOn(context, port, ['http/1.1']), 'http/1.1');
});

test('with HTTP/2 switched off clients are offered HTTP/1.1 only, and served by it', async (context) => {
  const { port } = await startServer(context, mirror, { disableHttp2Serving: true });
  assert.equal(await agreedOn(context, port, ['h2', 'http/1.1']), 'http/1.1');
  await assert.rejects(agreedOn(context, port, ['h2']), {
    code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL',
  });
  assert.equal((await askHttp1(port, { path: '/a' })).status, 200);
});

test('a response of a server that speaks HTTP/2 gets the standard reason phrase over HTTP/1.1', async (context) => {
  const peer = await startPeer(context, 'h2', (incoming, outgoing) => {
    outgoing.writeHead(Number(incoming.url?.slice(1)), { 'content-length': '0' });
    outgoing.end();
  });
  const router = await startRouter(context, { destination: peer.destination });
  const client = await rawClient(context, router.port);
  for (const line of ['200 OK', '201 Created', '404 Not Found', '422 Unprocessable Entity', '299 ']) {
    client.write(`GET /${line.slice(0, 3)} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const head = await readUntil(client, '\r\n\r\n');
    assert.equal(head.slice(0, head.indexOf('\r\n')), `HTTP/1.1 ${line}`);
  }
});

test('a request that arrives after its connection has ended is not processed', () => {
  const pipelines = new OneAtATime();
  const socket = new Socket();
  const handled: string[] = [];
  const run = (name: string): ServerResponse => {
    const incoming = new IncomingMessage(socket);
    const outgoing = new ServerResponse(incoming);
    pipelines.run(incoming, outgoing, () => handled.push(name));
    return outgoing;
  };
  // As one that is connected.
  Object.defineProperty(socket, 'writable', { value: true, configurable: true });
  run('first').destroy();
  run('second').destroy();
  Object.defineProperty(socket, 'writable', { value: false });
  run('behind the end');
  assert.deepEqual(handled, ['first', 'second']);
});

const path = '/.mixed-version-proxy/v1/snapshot';

/** 30 MB under the header of a good snapshot, far above what one may have, handed on as fast as they are taken. */
async function upload(router: RouterUnderTest): Promise<Readable> {
  const jws = await sealSnapshot(clusterSnapshot(router), snapshotKey);
  const chunk = Buffer.alloc(16 * 1024, 'x');
  return Readable.from([Buffer.from(jws), ...Array.from({ length: 1_900 }, () => chunk)]);
}

function assertTooLarge(status: unknown, body: readonly Buffer[]): void {
  assert.equal(status, 413);
  assert.match(Buffer.concat(body).toString(), /"reason":"RequestEntityTooLarge"/);
}

test('a client that uploads far too large a snapshot over HTTP/2 is told so, and its connection lives on', async (context) => {
  const router = await startRouterUnderTest(context);
  const { port } = router;
  const session = connect(`https://127.0.0.1:${port}`, { servername: 'localhost', ...clientTls('admin') });
  context.after(() => session.destroy());
  const stream = session.request({ ':method': 'PUT', ':path': path });
  (await upload(router)).pipe(stream);
  const body: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => body.push(chunk));
  const closed = once(stream, 'close');
  const [head] = await once(stream, 'response');
  await closed;
  assertTooLarge(head[':status'], body);
  assert.equal(await statusOf(session, '/.mixed-version-proxy/v1/status'), 200);
});

test('a client that uploads far too large a snapshot over HTTP/1.1 is told so', async (context) => {
  const router = await startRouterUnderTest(context);
  const { port } = router;
  const outgoing = httpsRequest({
    host: '127.0.0.1',
    port,
    method: 'PUT',
    path,
    agent: false,
    servername: 'localhost',
    ...clientTls('admin'),
  });
  const answered = once(outgoing, 'response');
  (await upload(router)).pipe(outgoing);
  const [incoming] = (await answered) as [IncomingMessage];
  assertTooLarge(incoming.statusCode, await incoming.toArray());
  outgoing.destroy();
});

async function statusOf(session: ClientHttp2Session, target: string): Promise<unknown> {
  const stream = session.request({ ':path': target });
  const [head] = await once(stream, 'response');
  stream.destroy();
  return head[':status'];
}

describe('requests that Kubernetes clients do not send', () => {
  test('CONNECT and TLS 1.1 get no response', async (context) => {
    const { port } = await start(context, mirror);
    const client = await rawClient(context, port);
    client.write('CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.equal(await readToEnd(client), '');
    const old = connectTls({
      host: '127.0.0.1',
      port,
      ca: servingAuthority.certificate,
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    await assert.rejects(once(old, 'secureConnect'));
  });
});
