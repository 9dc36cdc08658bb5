import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  credentials,
  type Peer,
  startPeer,
  startRawPeer,
} from '../../../test/support/api-servers/node-exchange.ts';
import { createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { HttpsClient, type HttpsRequest, type HttpsServer } from './https-client.ts';

const limits = { responseTimeout: 10_000, longestResponse: 64 * 1024 };

function clientTo(
  context: TestContext,
  { destination }: Pick<Peer, 'destination'>,
  given: Partial<HttpsServer> = {},
) {
  const client = new HttpsClient({
    origin: destination.origin,
    serverName: destination.serverName,
    certificateAuthorities: credentials.peerCertificateAuthorities,
    clientCertificate: credentials.frontProxy,
    ...given,
  });
  context.after(() => client.close());
  return client;
}

function ask(
  context: TestContext,
  peer: Pick<Peer, 'destination'>,
  rest: Partial<HttpsRequest> = {},
  given = limits,
) {
  return clientTo(context, peer).ask({ path: '/apis?x=1', ...rest }, given);
}

test('status, header lines and the whole body; requests one after the other share a connection', async (context) => {
  const sockets = new Set<Socket>();
  const peer = await startPeer(context, 'http/1.1', (incoming, outgoing) => {
    sockets.add(incoming.socket);
    outgoing.writeHead(200, { etag: '"1"', 'x-asked': `${incoming.url} ${incoming.headers.accept}` });
    outgoing.write('{"kind":');
    outgoing.end('"APIGroupList"}');
  });
  const client = clientTo(context, peer);
  for (let request = 0; request < 3; request++) {
    const { status, headers, text } = await client.ask(
      { path: '/apis?x=1', headers: ['Accept', 'a/b'] },
      limits,
    );
    assert.deepEqual(
      [status, headers.etag, headers['x-asked'], text],
      [200, '"1"', '/apis?x=1 a/b', '{"kind":"APIGroupList"}'],
    );
  }
  assert.equal(sockets.size, 1);
});

test('a connection that the server has closed meanwhile is not an error of the next read', async (context) => {
  let asked = 0;
  const peer = await startPeer(context, 'http/1.1', (incoming, outgoing) => {
    // The second request is read on a connection that breaks without a byte.
    if (++asked === 2) incoming.socket.destroy();
    else outgoing.end('here');
  });
  const client = clientTo(context, peer);
  assert.equal((await client.ask({ path: '/' }, limits)).text, 'here');
  assert.equal((await client.ask({ path: '/' }, limits)).text, 'here');
  assert.equal(asked, 3);
});

test('gzip is unpacked, up to the limit', async (context) => {
  const text = 'x'.repeat(10_000);
  const peer = await startPeer(context, 'http/1.1', (_incoming, outgoing) => {
    outgoing.writeHead(200, { 'content-encoding': 'gzip' });
    outgoing.end(gzipSync(text));
  });
  assert.equal((await ask(context, peer)).text, text);
  // A bomb: small on the wire, larger than allowed once unpacked.
  await assert.rejects(
    ask(context, peer, {}, { ...limits, longestResponse: 5_000 }),
    /longer than 5000 bytes/,
  );
});

test('a response larger than allowed is given up, and one that does not end in time', async (context) => {
  const ended: Promise<void>[] = [];
  const peer = await startPeer(context, 'http/1.1', (_incoming, outgoing) => {
    ended.push(new Promise((resolve) => outgoing.once('close', resolve)));
    outgoing.write('x'.repeat(10_000));
  });
  await assert.rejects(ask(context, peer, {}, { ...limits, longestResponse: 5_000 }), RangeError);
  await assert.rejects(ask(context, peer, {}, { ...limits, responseTimeout: 100 }), { code: 'ETIMEDOUT' });
  await Promise.all(ended);
});

test('a response that is not wanted any more ends at once', async (context) => {
  const leaving = new AbortController();
  const peer = await startPeer(context, 'http/1.1', () => leaving.abort());
  await assert.rejects(ask(context, peer, { signal: leaving.signal }), { code: 'ABORT_ERR' });
  await assert.rejects(ask(context, peer, { signal: AbortSignal.abort() }), { code: 'ABORT_ERR' });
});

test('a response that breaks off, and one that is not text, are none', async (context) => {
  const breaks = await startRawPeer(context, (socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfirst'));
  });
  await assert.rejects(ask(context, breaks), /aborted/);
  const peer = await startPeer(context, 'http/1.1', (_incoming, outgoing) =>
    outgoing.end(Buffer.from([0x22, 0xff, 0x22])),
  );
  await assert.rejects(ask(context, peer), /not UTF-8/);
});

test('a switch to another protocol, which nobody has asked for, is no response', async (context) => {
  const peer = await startRawPeer(context, (socket) => {
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'),
    );
  });
  await assert.rejects(ask(context, peer), /without a response/);
});

test('CVE-2022-3172: a redirect is a response like any other, never followed', async (context) => {
  let requests = 0;
  const peer = await startPeer(context, 'http/1.1', (_incoming, outgoing) => {
    requests++;
    outgoing.writeHead(302, { location: '/elsewhere' });
    outgoing.end();
  });
  assert.equal((await ask(context, peer)).status, 302);
  assert.equal(requests, 1);
});

test('a server that cannot be reached, and an address that may not be dialled', async (context) => {
  const peer = await startPeer(context, 'http/1.1', () => {});
  await peer.stop();
  await assert.rejects(ask(context, peer), { code: 'ECONNREFUSED' });
  const guarded = clientTo(context, peer, {
    addressPolicy: createAddressPolicy({ allowLoopback: false }),
  });
  await assert.rejects(guarded.ask({ path: '/' }, limits), RangeError);
});
