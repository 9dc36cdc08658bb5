import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { askHttp1, askHttp2, http2Client } from '../../../test/support/node-clients.ts';
import { type PeerIncoming, type Protocol, startPeer } from '../../../test/support/node-exchange.ts';
import { startRouter } from '../../../test/support/node-router.ts';

const protocols: readonly Protocol[] = ['h2', 'http/1.1'];

for (const upstream of protocols) {
  describe(`towards a destination on ${upstream}`, () => {
    test('methods, lengths and bodies keep their framing', async (context) => {
      const seen: string[] = [];
      const peer = await startPeer(context, upstream, async (incoming: PeerIncoming, outgoing) => {
        const body = Buffer.concat(await incoming.toArray()).toString();
        const length = incoming.headers['content-length'] ?? '-';
        seen.push(`${incoming.method} ${length} ${body}`);
        outgoing.end('{}');
      });
      const router = await startRouter(context, { destination: peer.destination });
      const session = http2Client(context, router.port);
      const deleteOptions = '{"propagationPolicy":"Background"}';

      await askHttp1(router.port, { method: 'DELETE', body: deleteOptions });
      await askHttp2(session, { method: 'DELETE', body: deleteOptions });
      await askHttp1(router.port, { method: 'POST', body: 'x' });
      await askHttp1(router.port, { method: 'PUT', headers: ['transfer-encoding', 'chunked'] });
      await askHttp1(router.port, { method: 'GET', headers: ['content-length', '0'] });
      await askHttp1(router.port, { method: 'OPTIONS' });
      assert.equal(seen[0], `DELETE ${deleteOptions.length} ${deleteOptions}`);
      assert.match(seen[1] ?? '', /^DELETE (-|\d+) \{"propagationPolicy":"Background"\}$/);
      assert.equal(seen[2], 'POST 1 x');
      assert.match(seen[3] ?? '', /^PUT [-0] $/);
      assert.match(seen[4] ?? '', /^GET [-0] $/);
      assert.match(seen[5] ?? '', /^OPTIONS [-0] $/);
    });

    test('HEAD, 204 and 304 have no body, and HEAD and 304 keep the length they name', async (context) => {
      const peer = await startPeer(context, upstream, (incoming, outgoing) => {
        const status = Number(incoming.url?.slice(1));
        outgoing.writeHead(status, status === 204 ? {} : { 'content-length': '7', etag: '"1"' });
        outgoing.end(status === 200 && incoming.method === 'GET' ? 'content' : undefined);
      });
      const router = await startRouter(context, { destination: peer.destination });
      const session = http2Client(context, router.port);
      for (const ask of [
        (request: { method: string; path: string }) => askHttp1(router.port, request),
        (request: { method: string; path: string }) => askHttp2(session, request),
      ]) {
        const head = await ask({ method: 'HEAD', path: '/200' });
        assert.equal(head.status, 200);
        assert.equal(head.body.length, 0);
        assert.ok(head.headers.includes('7'));
        const noContent = await ask({ method: 'GET', path: '/204' });
        assert.equal(noContent.status, 204);
        assert.equal(noContent.body.length, 0);
        const notModified = await ask({ method: 'GET', path: '/304' });
        assert.equal(notModified.status, 304);
        assert.equal(notModified.body.length, 0);
        const whole = await ask({ method: 'GET', path: '/200' });
        assert.equal(whole.body.toString(), 'content');
      }
      assert.equal(router.failures.length, 0);
    });
  });
}
