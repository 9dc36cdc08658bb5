import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Protocol, startPeer } from '../../../test/support/api-servers/node-exchange.ts';
import { askHttp1, askHttp2, http2Client } from '../../../test/support/clients/node-clients.ts';
import { startRouter } from '../../../test/support/routers/node-router.ts';

const protocols: readonly Protocol[] = ['h2', 'http/1.1'];

for (const upstream of protocols) {
  describe(`towards a destination on ${upstream}`, () => {
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
