import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants } from 'node:http2';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type PeerIncoming,
  type Protocol,
  startPeer,
} from '../../../test/support/api-servers/node-exchange.ts';
import { next, openOver } from '../../../test/support/clients/node-open-answer.ts';
import { drained } from '../../../test/support/drained.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { startRouter } from '../../../test/support/routers/node-router.ts';
import { startServer } from '../../../test/support/routers/node-server.ts';
import { BodyStream } from '../exchange/request-body.ts';
import { bodySourceOf } from './node-transport.ts';

const mebibyte = 1024 * 1024;
const protocols: readonly Protocol[] = ['h2', 'http/1.1'];

for (const client of protocols) {
  for (const upstream of protocols) {
    describe(`a client on ${client}, a destination on ${upstream}`, () => {
      const open = openOver[client];

      test('an upload in progress is no silence: it may last longer than the wait for the head', async (context) => {
        let arrived = 0;
        const peer = await startPeer(context, upstream, async (incoming: PeerIncoming, outgoing) => {
          for await (const piece of incoming) arrived += piece.length;
          outgoing.end();
        });
        let now = performance.now();
        context.mock.method(performance, 'now', () => now);
        const router = await startRouter(context, {
          destination: peer.destination,
          transport: { headTimeout: 100 },
        });
        const response = await open(context, router.port, async (body) => {
          // Until the wait for the head would be over twice.
          for (let piece = 1; piece <= 5; piece++) {
            body.write('part');
            await eventually(() => arrived === 4 * piece);
            now += 50;
            // Two checks of the router, were it to end the request.
            await delay(25);
          }
          body.end();
        });
        assert.equal(response.status, 200);
      });

      test('a destination that does not read holds up the upload', async (context) => {
        const peer = await startPeer(context, upstream, (incoming: PeerIncoming, outgoing) => {
          incoming.pause();
          outgoing.writeHead(200);
          outgoing.flushHeaders();
        });
        const router = await startRouter(context, { destination: peer.destination });
        const chunk = Buffer.alloc(64 * 1024);
        let written = 0;
        const stalled = Promise.withResolvers<void>();
        const response = await open(context, router.port, async (body) => {
          while (written < 64 * mebibyte) {
            written += chunk.length;
            if (body.write(chunk)) continue;
            await drained(body, stalled.resolve);
          }
          stalled.resolve();
        });
        await stalled.promise;
        assert.ok(written < 24 * mebibyte, `${written} bytes were taken from the client`);
        response.leave();
      });

      test('a response before the end of the upload reaches the client', async (context) => {
        const peer = await startPeer(context, upstream, (_incoming, outgoing) => {
          outgoing.writeHead(413, { 'content-type': 'text/plain' });
          outgoing.end('too large');
        });
        const router = await startRouter(context, { destination: peer.destination });
        const response = await open(context, router.port, (body) => {
          body.on('error', () => {});
          body.write(Buffer.alloc(mebibyte));
        });
        assert.equal(response.status, 413);
        assert.equal(await next(response.body), 'too large');
        assert.equal(await response.ended, 'end');
      });
    });
  }
}

for (const client of protocols) {
  test(`an upload on ${client} to which an HTTP/2 destination responds early leaves no stream open there`, async (context) => {
    const codes: number[] = [];
    const peer = await startPeer(context, 'h2', (incoming, outgoing) => {
      incoming.on('error', () => {}).resume();
      outgoing.on('error', () => {});
      outgoing.stream?.once('close', () => codes.push(outgoing.stream?.rstCode ?? 0));
      outgoing.end('early');
    });
    const router = await startRouter(context, { destination: peer.destination });
    for (let upload = 0; upload < 3; upload++) {
      const response = await openOver[client](context, router.port, (body) => {
        body.on('error', () => {});
        body.write('a part');
      });
      assert.equal(await next(response.body), 'early');
    }
    await eventually(() => codes.length === 3);
    // Had one ended in good order, the destination would have taken the part for the whole.
    assert.ok(!codes.includes(constants.NGHTTP2_NO_ERROR), `closed with ${codes}`);
  });
}

test('an upload to which an HTTP/2 destination responds at its end is not reset', async (context) => {
  const codes: number[] = [];
  const peer = await startPeer(context, 'h2', async (incoming, outgoing) => {
    outgoing.stream?.once('close', () => codes.push(outgoing.stream?.rstCode ?? -1));
    outgoing.end(String(Buffer.concat(await incoming.toArray()).length));
  });
  const router = await startRouter(context, { destination: peer.destination });
  for (const length of [0, 1, 100_000, mebibyte]) {
    const response = await openOver.h2(context, router.port, (body) => body.end(Buffer.alloc(length)));
    assert.equal(await next(response.body), String(length));
  }
  await eventually(() => codes.length === 4);
  assert.deepEqual(codes, [0, 0, 0, 0]);
});

test('the part of an upload that came before its response never looks whole', async (context) => {
  const outcome = Promise.withResolvers<string>();
  const { port } = await startServer(context, async (_request, { inbound }) => {
    const source = bodySourceOf(inbound);
    assert.ok(source);
    const body = new BodyStream(source, () => {});
    body.once('end', () => outcome.resolve('end')).once('error', (error) => outcome.resolve(error.message));
    await once(body, 'data');
    return new Response('early');
  });
  const response = await openOver.h2(context, port, (body) => {
    body.on('error', () => {});
    body.write('a part');
  });
  assert.equal(await next(response.body), 'early');
  assert.match(await outcome.promise, /before the end of the request body/);
});
