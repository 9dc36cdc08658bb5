import assert from 'node:assert/strict';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { type Protocol, startPeer } from '../../../test/support/api-servers/node-exchange.ts';
import {
  askHttp1,
  askHttp2,
  http2Client,
  type WireAnswer,
} from '../../../test/support/clients/node-clients.ts';
import { next, openOver } from '../../../test/support/clients/node-open-answer.ts';
import { startRouter } from '../../../test/support/routers/node-router.ts';
import { newTransport, send } from '../../../test/support/routers/node-transport.ts';

const protocols: readonly Protocol[] = ['h2', 'http/1.1'];

type Post = (context: TestContext, port: number, body: string) => Promise<WireAnswer>;

/** Posts a body whose length is announced. */
const post: Record<Protocol, Post> = {
  'http/1.1': (_context, port, body) => askHttp1(port, { method: 'POST', body }),
  h2: (context, port, body) =>
    askHttp2(http2Client(context, port), {
      method: 'POST',
      body,
      headers: ['content-length', String(body.length)],
    }),
};

for (const client of protocols) {
  for (const upstream of protocols) {
    test(`short bodies from ${client} to ${upstream} arrive as they were sent, in one piece or in several`, async (context) => {
      const peer = await startPeer(context, upstream, async (incoming, outgoing) => {
        outgoing.end(Buffer.concat(await incoming.toArray()));
      });
      const router = await startRouter(context, { destination: peer.destination });
      // Around what is sent in one piece, and around what Node reads and writes at a time.
      for (const length of [1, 1_000, 16_383, 16_384, 16_385, 65_536, 65_537]) {
        const body = 'abcdefg'.repeat(length).slice(0, length);
        const response = await post[client](context, router.port, body);
        assert.equal(response.body.toString(), body, `${length} bytes`);
      }
    });
  }

  test(`a short body from ${client} of which a part is late is waited for`, async (context) => {
    const peer = await startPeer(context, 'h2', async (incoming, outgoing) => {
      outgoing.writeHead(200);
      outgoing.flushHeaders();
      outgoing.end(Buffer.concat(await incoming.toArray()));
    });
    const router = await startRouter(context, { destination: peer.destination });
    // The destination's head shows that it has the request, and no end of it yet.
    let sendRest: (() => void) | undefined;
    const response = await openOver[client](context, router.port, (body) => {
      body.write('first ');
      sendRest = () => body.end('last');
    });
    assert.equal(response.status, 200);
    sendRest?.();
    assert.equal(await text(response.body), 'first last');
  });

  for (const upstream of protocols) {
    test(`a head from ${upstream} whose announced body is late reaches a client on ${client} before it`, async (context) => {
      const asked = Promise.withResolvers<() => void>();
      const peer = await startPeer(context, upstream, (_incoming, outgoing) => {
        outgoing.writeHead(200, { 'content-length': '4' });
        outgoing.flushHeaders();
        asked.resolve(() => outgoing.end('late'));
      });
      const transport = newTransport(context);
      const { destination } = peer;
      const router = await startRouter(context, {
        destination,
        server: { fetch: (_request, { inbound }) => send(transport, destination, inbound) },
      });
      const response = await openOver[client](context, router.port);
      assert.equal(response.status, 200);
      (await asked.promise)();
      const [body] = await once(response.body, 'data');
      assert.equal(String(body), 'late');
    });

    test(`an announced body from ${upstream} whose end is late reaches a client on ${client} before it`, async (context) => {
      const asked = Promise.withResolvers<() => void>();
      const peer = await startPeer(context, upstream, (_incoming, outgoing) => {
        outgoing.writeHead(200, { 'content-length': '5' });
        outgoing.write('whole');
        asked.resolve(() => outgoing.end());
      });
      const router = await startRouter(context, { destination: peer.destination });
      const response = await openOver[client](context, router.port);
      assert.equal(await next(response.body), 'whole');
      (await asked.promise)();
      assert.equal(await response.ended, 'end');
    });
  }
}
