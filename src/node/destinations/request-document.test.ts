import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { credentials, type Peer, startPeer, startRawPeer } from '../../../test/support/node-exchange.ts';
import { firstHeader } from '../../apimachinery/raw-headers.ts';
import { NodeTransport } from './node-transport.ts';
import { type Document, type DocumentRequest, requestDocument } from './request-document.ts';

function request(
  context: TestContext,
  peer: Peer,
  options: Partial<DocumentRequest> = {},
): Promise<Document> {
  const transport = new NodeTransport({ credentials });
  context.after(() => transport.close());
  const { destination } = peer;
  return requestDocument(transport, {
    destination,
    target: '/apis?x=1',
    presentFrontProxyCertificate: true,
    ...options,
  });
}

for (const protocol of ['h2', 'http/1.1'] as const) {
  test(`over ${protocol}: status, header lines and the whole body`, async (context) => {
    const peer = await startPeer(context, protocol, (incoming, outgoing) => {
      outgoing.writeHead(200, { etag: '"1"', 'x-asked': `${incoming.url} ${incoming.headers.accept}` });
      outgoing.write('{"kind":');
      outgoing.end('"APIGroupList"}');
    });
    const document = await request(context, peer, { headers: ['Accept', 'application/json'] });
    assert.equal(document.status, 200);
    assert.equal(firstHeader(document.headers, 'etag'), '"1"');
    assert.equal(firstHeader(document.headers, 'x-asked'), '/apis?x=1 application/json');
    assert.equal(Buffer.from(document.body).toString(), '{"kind":"APIGroupList"}');
  });
}

test('gzip that was sent unasked is unpacked, up to the limit', async (context) => {
  const text = 'x'.repeat(10_000);
  const peer = await startPeer(context, 'h2', (incoming, outgoing) => {
    assert.equal(incoming.headers['accept-encoding'], 'identity');
    outgoing.writeHead(200, { 'content-encoding': 'gzip' });
    outgoing.end(gzipSync(text));
  });
  assert.equal(Buffer.from((await request(context, peer)).body).toString(), text);
  // A bomb: small on the wire, larger than allowed once unpacked.
  await assert.rejects(request(context, peer, { maximumBytes: 5_000 }), { code: 'InvalidResponse' });
});

test('a document larger than allowed is given up', async (context) => {
  const ended = Promise.withResolvers<void>();
  const peer = await startPeer(context, 'h2', (_incoming, outgoing) => {
    outgoing.once('close', ended.resolve);
    outgoing.write('x'.repeat(10_000));
  });
  await assert.rejects(request(context, peer, { maximumBytes: 5_000 }), { code: 'InvalidResponse' });
  await ended.promise;
});

test('a document that does not end in time: Timeout, and its request is ended', async (context) => {
  const ended = Promise.withResolvers<void>();
  const peer = await startPeer(context, 'h2', (_incoming, outgoing) => {
    outgoing.once('close', ended.resolve);
    outgoing.write('first');
  });
  await assert.rejects(request(context, peer, { timeoutMilliseconds: 100 }), { code: 'Timeout' });
  await ended.promise;
});

test('a document that is not wanted any more: ClientGone', async (context) => {
  const leaving = new AbortController();
  const peer = await startPeer(context, 'h2', () => leaving.abort());
  await assert.rejects(request(context, peer, { signal: leaving.signal }), { code: 'ClientGone' });
  await assert.rejects(request(context, peer, { signal: AbortSignal.abort() }), { code: 'ClientGone' });
});

test('a document that breaks off is no document', async (context) => {
  const peer = await startRawPeer(context, (socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfirst'));
  });
  await assert.rejects(request(context, peer), { code: 'InvalidResponse' });
});

test('CVE-2022-3172: a redirect is a response like any other, never followed', async (context) => {
  let requests = 0;
  const peer = await startPeer(context, 'h2', (_incoming, outgoing) => {
    requests++;
    outgoing.writeHead(302, { location: '/elsewhere' });
    outgoing.end();
  });
  assert.equal((await request(context, peer)).status, 302);
  assert.equal(requests, 1);
});

test('a destination that cannot be reached: ConnectFailed', async (context) => {
  const peer = await startPeer(context, 'h2', () => {});
  await peer.stop();
  await assert.rejects(request(context, peer), { code: 'ConnectFailed', mayHaveBeenProcessed: false });
});
