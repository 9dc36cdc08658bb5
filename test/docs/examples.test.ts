import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { fetchOverMutualTls } from '../../examples/fetch-over-mutual-tls.ts';
import { createGreeterServer } from '../../examples/http2-server.ts';
import { createApiServer } from '../../examples/library-middleware.ts';
import { fetchTransport } from '../../examples/own-transport.ts';
import { buildRoutingTable } from '../../src/index.ts';
import { credentials, startPeer } from '../support/api-servers/node-exchange.ts';
import { askHttp2, http2Client } from '../support/clients/node-clients.ts';
import { servingTls } from '../support/routers/node-server.ts';
import { snapshotOf } from '../support/snapshots/snapshot-builder.ts';

const get = (path: string) => new Request(`https://router.example${path}`);

const serves = ['batch/v1/jobs', 'batch/v1/cronjobs'];
const local = {
  kind: 'local',
  id: 'old',
  origin: 'https://10.0.0.1:6443',
  serverName: 'kubernetes.default.svc',
  trust: { kind: 'peer-ca' },
} as const;

describe('examples/first-program.ts', () => {
  test('runs, and sends what only the new server has to it', async (context) => {
    const program = join(import.meta.dirname, '../../examples/first-program.ts');
    const child = spawn(process.execPath, [program], { env: { ...process.env, PORT: '0' } });
    context.after(() => child.kill('SIGKILL'));
    const [line] = await once(child.stdout, 'data');
    const port = /listening on (\d+)/.exec(String(line))?.[1];
    const answer = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).json();
    assert.deepEqual(await answer('/apis/batch/v1/cronjobs'), { answeredBy: '10.0.0.2:6443' });
    assert.deepEqual(await answer('/api/v1/pods'), { answeredBy: '10.0.0.1:6443' });
  });
});

describe('examples/library-middleware.ts with examples/own-transport.ts', () => {
  const asked: Request[] = [];
  const table = buildRoutingTable(snapshotOf({ old: ['batch/v1/jobs'], new: serves }));
  const peer = async (request: Request) => {
    asked.push(request);
    return new Response('from the peer', { status: 207, headers: { 'x-from': 'peer' } });
  };
  const app = createApiServer(local, { current: () => table }, fetchTransport(peer));

  test('answers what it serves itself', async () => {
    const response = await app.fetch(get('/apis/batch/v1/jobs'));
    assert.equal(((await response.json()) as { kind: string }).kind, 'JobList');
    assert.equal(asked.length, 0);
  });

  test("passes a peer's answer on, whatever its code", async () => {
    const response = await app.fetch(get('/apis/batch/v1/cronjobs?limit=1'));
    assert.equal(response.status, 207);
    assert.equal(response.headers.get('x-from'), 'peer');
    assert.equal(await response.text(), 'from the peer');
    const [request] = asked;
    assert.equal(request?.url, 'https://10.0.0.2:6443/apis/batch/v1/cronjobs?limit=1');
    assert.equal(request?.headers.get('x-kubernetes-peer-proxied'), 'true');
  });
});

describe('examples/fetch-over-mutual-tls.ts', () => {
  test('reaches a peer over HTTP/2, which sees the client certificate', async (context) => {
    let certificate: string | undefined;
    const peer = await startPeer(context, 'h2', (incoming, outgoing) => {
      certificate = (incoming.socket as TLSSocket).getPeerCertificate().subject.CN as string;
      outgoing.setHeader('x-from', `${incoming.headers[':authority']} ${incoming.url}`);
      outgoing.end(`over HTTP/${incoming.httpVersion}`);
    });
    const { peerCertificateAuthorities: authority, frontProxy } = credentials;
    assert.ok(frontProxy);
    const { transport, close } = fetchOverMutualTls({ authority, ...frontProxy });
    context.after(close);
    const table = buildRoutingTable(
      snapshotOf({ old: ['batch/v1/jobs'], new: { serves, address: `127.0.0.1:${peer.port}` } }),
    );
    const app = createApiServer(local, { current: () => table }, transport);
    const response = await app.fetch(get('/apis/batch/v1/cronjobs'));
    assert.equal(response.status, 200);
    assert.equal(await response.text(), 'over HTTP/2.0');
    assert.equal(response.headers.get('x-from'), `127.0.0.1:${peer.port} /apis/batch/v1/cronjobs`);
    assert.equal(certificate, 'front-proxy-client');
  });
});

describe('examples/http2-server.ts', () => {
  test('serves its app over HTTP/2, and ends behind the answers that are under way', async (context) => {
    const { server, http2 } = createGreeterServer(servingTls);
    context.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const session = http2Client(context, (server.address() as AddressInfo).port);
    assert.equal((await askHttp2(session, { path: '/hello/world' })).body.toString(), 'hello world');
    const echo = await askHttp2(session, { method: 'POST', path: '/echo', body: 'and back' });
    assert.equal(echo.body.toString(), 'and back');
    const lines = await askHttp2(session, { path: '/lines', headers: ['x-twice', '1', 'x-twice', '2'] });
    assert.deepEqual(JSON.parse(lines.body.toString()), ['x-twice', '1', 'x-twice', '2']);
    const goneAway = once(session, 'goaway');
    await http2.close();
    await goneAway;
  });
});
