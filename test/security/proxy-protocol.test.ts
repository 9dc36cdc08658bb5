import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext, test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { freePort } from '../../scripts/harness/free-port.ts';
import { findProgram } from '../../scripts/harness/programs.ts';
import { canConnect } from '../support/can-connect.ts';
import { eventually } from '../support/eventually.ts';
import { startServer } from '../support/node-server.ts';
import { addresses4, addresses6, proxyHeader2 } from '../support/proxy-header.ts';
import { recordingLogger } from '../support/recording-logger.ts';
import { type StartedRouter, startRouterWithFiles } from '../support/started-router.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { askOverHttp1, askOverHttp2, readUntil } from '../support/tls-client.ts';

const pods = '/api/v1/pods';
const loopback = ['127.0.0.1/32'];

function start(context: TestContext, cidrs: readonly string[] = loopback): Promise<StartedRouter> {
  return startRouterWithFiles(context, {
    flags: cidrs.length === 0 ? {} : { 'proxy-protocol-cidrs': cidrs },
  });
}

/** A TCP connection that has sent `pieces`, one packet each. */
async function connectAfter(context: TestContext, port: number, ...pieces: readonly (string | Buffer)[]) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => {});
  context.after(() => socket.destroy());
  await once(socket, 'connect');
  for (const piece of pieces) {
    await new Promise((sent) => socket.write(piece, 'latin1' as BufferEncoding, sent));
    await new Promise((done) => setImmediate(done));
  }
  return socket;
}

/** TLS over it. */
async function secure(
  context: TestContext,
  socket: Socket,
  { authorities }: StartedRouter,
  protocol: 'h2' | 'http/1.1' = 'http/1.1',
): Promise<TLSSocket> {
  const tls = connectTls({
    socket,
    ca: authorities.cluster.certificate,
    servername: 'localhost',
    ALPNProtocols: [protocol],
  });
  tls.on('error', () => {});
  context.after(() => tls.destroy());
  await once(tls, 'secureConnect');
  return tls;
}

function forwardedFor({ apiServer }: StartedRouter): (string | undefined)[] {
  return apiServer.requests.map(({ headers }) => {
    const index = headers.findIndex((name) => name.toLowerCase() === 'x-forwarded-for');
    return index === -1 ? undefined : headers[index + 1];
  });
}

/** What a server sends until it closes. */
async function sentBeforeTheEnd(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  await once(socket, 'close');
  return text;
}

const ipv4 = 'PROXY TCP4 192.0.2.7 10.0.0.1 56324 6443\r\n';

describe('the address of a client behind a load balancer that sends the PROXY protocol', () => {
  it('is what X-Forwarded-For has, for every form of the header', async (context) => {
    const started = await start(context);
    const forms: readonly (readonly [Buffer | string, string])[] = [
      [ipv4, '192.0.2.7'],
      ['PROXY TCP6 2001:db8::7 ::1 1 6443\r\n', '2001:db8::7'],
      [proxyHeader2({ family: 1, addresses: addresses4('192.0.2.8', 1) }), '192.0.2.8'],
      [proxyHeader2({ family: 2, addresses: addresses6('2001:db8::8', 1) }), '2001:db8::8'],
      // The load balancer speaks for itself, or of an address that is none.
      ['PROXY UNKNOWN\r\n', '127.0.0.1'],
      [proxyHeader2({ command: 0, family: 0, addresses: Buffer.alloc(0) }), '127.0.0.1'],
      [proxyHeader2({ family: 3, addresses: Buffer.alloc(216) }), '127.0.0.1'],
    ];
    for (const [header] of forms) {
      const tls = await secure(context, await connectAfter(context, started.port, header), started);
      assert.equal((await askOverHttp1(tls, pods)).status, 200);
    }
    assert.deepEqual(
      forwardedFor(started),
      forms.map(([, address]) => address),
    );
  });

  it('is read byte by byte, and with the handshake in the same packet', async (context) => {
    const started = await start(context);
    const slow = await connectAfter(context, started.port, ...ipv4);
    assert.equal((await askOverHttp1(await secure(context, slow, started), pods)).status, 200);
    const joined = await connectAfter(context, started.port);
    joined.cork();
    joined.write(ipv4);
    const tls = secure(context, joined, started);
    process.nextTick(() => joined.uncork());
    assert.equal((await askOverHttp1(await tls, pods)).status, 200);
    assert.deepEqual(forwardedFor(started), ['192.0.2.7', '192.0.2.7']);
  });

  it('is that of requests over HTTP/2', async (context) => {
    const started = await start(context);
    const tls = await secure(context, await connectAfter(context, started.port, ipv4), started, 'h2');
    const session = connectHttp2('https://localhost', { createConnection: () => tls });
    context.after(() => session.destroy());
    assert.equal((await askOverHttp2(session, pods)).status, 200);
    assert.deepEqual(forwardedFor(started), ['192.0.2.7']);
  });

  it('is appended to what the client sends as X-Forwarded-For, as any other', async (context) => {
    const started = await start(context);
    const tls = await secure(context, await connectAfter(context, started.port, ipv4), started);
    await askOverHttp1(tls, pods, ['X-Forwarded-For: 203.0.113.1']);
    assert.deepEqual(forwardedFor(started), ['203.0.113.1, 192.0.2.7']);
  });
});

describe('a PROXY header', () => {
  it('of anybody else is never read: it is no handshake', async (context) => {
    for (const cidrs of [[], ['10.0.0.0/8', 'fd00::/8']]) {
      const started = await start(context, cidrs);
      const socket = await connectAfter(context, started.port, ipv4);
      await sentBeforeTheEnd(socket);
      // And who sends none is served.
      const tls = await secure(context, await connectAfter(context, started.port), started);
      assert.equal((await askOverHttp1(tls, pods)).status, 200);
      assert.deepEqual(forwardedFor(started), ['127.0.0.1']);
    }
  });

  it('must come from those that are named, whole and valid, or the connection ends without a word', async (context) => {
    const { logger, lines } = recordingLogger();
    const refusals: string[] = [];
    const { port } = await startServer(context, () => assert.fail('nothing gets through'), {
      proxyProtocolCidrs: loopback,
      limits: { tlsHandshakeTimeout: 300 },
      logger,
      observer: {
        secured() {},
        handshakeFailed() {},
        malformed() {},
        proxyHeaderRefused: (reason) => refusals.push(reason),
      },
    });
    for (const text of [
      '\x16\x03\x01\x02\x00\x01',
      'GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'PROXY TCP4 192.0.2.7\r\n',
      `PROXY UNKNOWN ${'f'.repeat(200)}`,
      'PROXY TCP4 192.0.2.7 ',
    ]) {
      assert.equal(await sentBeforeTheEnd(await connectAfter(context, port, text)), '', text);
    }
    const halved = await connectAfter(context, port, 'PROXY TCP4');
    halved.end();
    assert.equal(await sentBeforeTheEnd(halved), '');
    // Nothing at all is a health check that only connects.
    const silent = await connectAfter(context, port);
    silent.end();
    assert.equal(await sentBeforeTheEnd(silent), '');
    assert.deepEqual(refusals, ['no_header', 'no_header', 'malformed', 'too_long', 'timeout', 'closed']);
    assert.match(lines[0]?.message ?? '', /--proxy-protocol-cidrs began without a PROXY header/);
    assert.deepEqual(lines[0]?.fields, { remoteAddress: '127.0.0.1', reason: 'no_header' });
  });

  it('is counted when it is refused', async (context) => {
    const started = await start(context);
    await sentBeforeTheEnd(await connectAfter(context, started.port, 'HELO\r\n'));
    const socket = await connectAfter(context, started.port, ipv4);
    const pair = await started.user('admin', ['system:masters']);
    const tls = connectTls({
      socket,
      ca: started.authorities.cluster.certificate,
      servername: 'localhost',
      cert: pair.chain,
      key: pair.privateKey,
    });
    context.after(() => tls.destroy());
    await once(tls, 'secureConnect');
    tls.write('GET /.mixed-version-proxy/metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    const line = 'mixed_version_proxy_proxy_protocol_errors_total{reason="no_header"} 1';
    await readUntil(tls, line);
  });

  it('does not keep a shutdown waiting, nor a busy connection from ending', async (context) => {
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const { promise: answer, resolve: send } = Promise.withResolvers<Response>();
    const { port, server } = await startServer(
      context,
      () => {
        asked();
        return answer;
      },
      { proxyProtocolCidrs: loopback },
    );
    const waiting = await connectAfter(context, port, 'PROXY ');
    const busy = connectTls({
      socket: await connectAfter(context, port, ipv4),
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    });
    context.after(() => busy.destroy());
    busy.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await isAsked;
    const closed = server.close(60_000);
    await sentBeforeTheEnd(waiting);
    send(new Response('served'));
    await readUntil(busy, 'served');
    await closed;
  });
});

const haproxy = findProgram('haproxy');
const missing = haproxy === undefined && 'needs haproxy on PATH or in /usr/sbin';

for (const [version, check] of [
  ['send-proxy', 'check check-send-proxy'],
  ['send-proxy-v2', 'check check-send-proxy'],
]) {
  test(`HAProxy with ${version} says who its clients are, and its health checks pass`, {
    skip: missing,
  }, async (context) => {
    const started = await start(context);
    const directory = await temporaryDirectory(context);
    const [port, statistics] = await Promise.all([freePort(), freePort()]);
    const file = join(directory, 'haproxy.cfg');
    await writeFile(file, configuration(port, statistics, started.port, `${version} ${check}`));
    const child = spawn(haproxy ?? '', ['-db', '-f', file], { stdio: 'ignore' });
    context.after(() => stopped(child));
    await eventually(() => canConnect(port));
    // Not the address that HAProxy has itself.
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    await once(socket, 'connect');
    assert.equal((await askOverHttp1(await secure(context, socket, started), pods)).status, 200);
    assert.deepEqual(forwardedFor(started), ['127.0.0.2']);
    await eventually(async () => {
      const socket = await connectAfter(
        context,
        statistics,
        'GET /;csv HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      );
      return /^routers,router,.*,UP,.*L7OK/m.test(await sentBeforeTheEnd(socket));
    });
    assert.deepEqual(
      started.logs.filter(({ message }) => message.includes('PROXY')),
      [],
    );
  });
}

function configuration(port: number, statistics: number, router: number, server: string): string {
  return `defaults
  mode tcp
  timeout connect 5s
  timeout client 1m
  timeout server 1m
frontend kubernetes
  bind 127.0.0.1:${port}
  default_backend routers
backend routers
  option httpchk GET /livez
  default-server check-ssl verify none inter 100ms
  server router 127.0.0.1:${router} ${server}
frontend statistics
  mode http
  bind 127.0.0.1:${statistics}
  stats enable
  stats uri /
`;
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill();
  await once(child, 'exit');
}
