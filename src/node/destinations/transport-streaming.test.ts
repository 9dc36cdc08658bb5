import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type PeerOutgoing,
  type Protocol,
  startPeer,
} from '../../../test/support/api-servers/node-exchange.ts';
import { next, openOver } from '../../../test/support/clients/node-open-answer.ts';
import { drained } from '../../../test/support/drained.ts';
import { startRouter } from '../../../test/support/routers/node-router.ts';

const mebibyte = 1024 * 1024;
const protocols: readonly Protocol[] = ['h2', 'http/1.1'];

for (const client of protocols) {
  for (const upstream of protocols) {
    describe(`a client on ${client}, a destination on ${upstream}`, () => {
      const open = openOver[client];

      test('a watch is never cut for being quiet, before its head or after', async (context) => {
        const peer = await startPeer(context, upstream, async (_incoming, outgoing) => {
          // Timers of one process are called in their order: one of the router, set before, would have been first.
          await delay(25);
          outgoing.writeHead(200);
          outgoing.flushHeaders();
          await delay(25);
          outgoing.end('event');
        });
        const router = await startRouter(context, {
          destination: peer.destination,
          outbound: { longRunning: true },
          transport: { headTimeout: 10 },
        });
        const response = await open(context, router.port);
        assert.equal(await next(response.body), 'event');
      });

      test('a slow reader holds up the destination, and gets everything in the end', async (context) => {
        const total = 64 * mebibyte;
        const chunk = Buffer.alloc(64 * 1024, 'x');
        let written = 0;
        const stalled = Promise.withResolvers<void>();
        const peer = await startPeer(context, upstream, async (_incoming, outgoing) => {
          while (written < total) {
            written += chunk.length;
            if (outgoing.write(chunk)) continue;
            await drained(outgoing, stalled.resolve);
          }
          outgoing.end();
        });
        const router = await startRouter(context, { destination: peer.destination });
        const response = await open(context, router.port);
        response.body.pause();
        await stalled.promise;
        // Socket buffers of the kernel on both connections are the most of it.
        assert.ok(written < 24 * mebibyte, `${written} bytes were taken from the destination`);
        let received = 0;
        response.body.on('data', (data: Buffer) => {
          received += data.length;
        });
        response.body.resume();
        assert.equal(await response.ended, 'end');
        assert.equal(received, total);
      });
    });
  }
}

test('a watch on HTTP/1.1 outlasts the five minutes after which undici gives up by itself', async (context) => {
  // undici's own clock, moved as its own tests do.
  const clock: { tick(milliseconds: number): void } = createRequire(import.meta.url)(
    'undici/lib/util/timers.js',
  );
  let watch: PeerOutgoing | undefined;
  const peer = await startPeer(context, 'http/1.1', (_incoming, outgoing) => {
    outgoing.writeHead(200);
    outgoing.flushHeaders();
    watch = outgoing;
  });
  const router = await startRouter(context, {
    destination: peer.destination,
    outbound: { longRunning: true },
  });
  const response = await openOver.h2(context, router.port);
  clock.tick(301_000);
  clock.tick(301_000);
  watch?.write('event');
  assert.equal(await next(response.body), 'event');
});
