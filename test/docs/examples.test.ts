import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { fetchOverMutualTls } from '../../examples/fetch-over-mutual-tls.ts';
import { createGreeterServer } from '../../examples/http2-server.ts';
import { createApiServer } from '../../examples/library-middleware.ts';
import { fetchTransport } from '../../examples/own-transport.ts';
import { ask } from '../../examples/test-double.ts';
import { newServer, twoVersions } from '../../examples/two-versions.ts';
import { askHttp2, http2Client } from '../support/node-clients.ts';
import { credentials, startPeer } from '../support/node-exchange.ts';
import { servingTls } from '../support/node-server.ts';

const minute = 60_000;
const get = (path: string) => new Request(`https://router.example${path}`);

describe('examples/test-double.ts', () => {
  test('shows a request that goes to the peer', async () => {
    const { status, sent } = await ask('GET', '/apis/batch/v1/cronjobs', minute);
    assert.equal(status, 200);
    assert.deepEqual(
      sent.map(({ destination, target }) => [destination.kind, destination.id, target]),
      [['peer', newServer, '/apis/batch/v1/cronjobs']],
    );
  });

  test('shows a request that stays', async () => {
    assert.deepEqual(await ask('GET', '/apis/batch/v1/jobs', minute), { status: 200, sent: [] });
  });

  test('moves the clock, and the router goes on by an old snapshot', async () => {
    const { sent } = await ask('GET', '/apis/batch/v1/cronjobs', 61 * minute);
    assert.deepEqual(
      sent.map(({ destination }) => destination.id),
      [newServer],
    );
  });
});

describe('examples/library-middleware.ts with examples/own-transport.ts', () => {
  const asked: Request[] = [];
  const table = twoVersions(Date.now());
  const peer = async (request: Request) => {
    asked.push(request);
    return new Response('from the peer', { status: 207, headers: { 'x-from': 'peer' } });
  };
  const app = createApiServer({ current: () => table }, fetchTransport(peer));

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

  test('sends a body on', async () => {
    const response = await app.fetch(
      new Request('https://router.example/apis/batch/v1/namespaces/default/cronjobs', {
        method: 'POST',
        body: '{}',
      }),
    );
    assert.equal(response.status, 207);
    assert.equal(await asked.at(-1)?.text(), '{}');
  });

  test('answers 503 when the peer cannot be reached', async () => {
    const unreachable = createApiServer(
      { current: () => table },
      fetchTransport(() => Promise.reject(new TypeError('fetch failed'))),
    );
    const response = await unreachable.fetch(get('/apis/batch/v1/cronjobs'));
    assert.equal(response.status, 503);
    assert.equal(((await response.json()) as { reason: string }).reason, 'ServiceUnavailable');
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
    const table = twoVersions(Date.now(), `127.0.0.1:${peer.port}`);
    const app = createApiServer({ current: () => table }, transport);
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
