import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type PeerIncoming, type Protocol, startPeer } from '../../test/support/node-exchange.ts';
import { next, openOver } from '../../test/support/node-open-answer.ts';
import { startRouter } from '../../test/support/node-router.ts';

const mebibyte = 1024 * 1024;
const protocols: readonly Protocol[] = ['h2', 'http/1.1'];

for (const client of protocols) {
  for (const upstream of protocols) {
    describe(`a client on ${client}, a destination on ${upstream}`, () => {
      const open = openOver[client];

      test('an upload streams: the destination has the first part before the client has sent the last', async (context) => {
        const first = Promise.withResolvers<string>();
        const peer = await startPeer(context, upstream, async (incoming: PeerIncoming, outgoing) => {
          let body = '';
          for await (const part of incoming) {
            body += String(part);
            first.resolve(body);
          }
          outgoing.end(body);
        });
        const router = await startRouter(context, { destination: peer.destination });
        const answering = open(context, router.port, async (body) => {
          body.write('one ');
          await first.promise;
          body.end('two');
        });
        assert.equal(await first.promise, 'one ');
        assert.equal(await next((await answering).body), 'one two');
      });

      test('an upload that breaks off never looks whole to the destination', async (context) => {
        const outcome = Promise.withResolvers<string>();
        const peer = await startPeer(context, upstream, (incoming, outgoing) => {
          outgoing.writeHead(200);
          outgoing.write('go on');
          outgoing.on('error', () => {});
          incoming.on('data', () => {});
          // Node also ends the body of a stream that was reset.
          incoming.once('end', () =>
            outcome.resolve((outgoing.stream?.rstCode ?? 0) === 0 ? 'end' : 'aborted'),
          );
          incoming.once('aborted', () => outcome.resolve('aborted'));
          incoming.once('error', () => outcome.resolve('aborted'));
        });
        const router = await startRouter(context, { destination: peer.destination });
        const answer = await open(context, router.port, (body) => {
          body.on('error', () => {});
          body.write('half');
        });
        await next(answer.body);
        answer.leave();
        assert.equal(await outcome.promise, 'aborted');
      });

      test('an upload in progress is no silence: it may last longer than the wait for the head', async (context) => {
        const peer = await startPeer(context, upstream, async (incoming: PeerIncoming, outgoing) => {
          outgoing.end(String((await incoming.toArray()).length > 0));
        });
        const router = await startRouter(context, {
          destination: peer.destination,
          transport: { headTimeout: 400 },
        });
        const answer = await open(context, router.port, async (body) => {
          for (let part = 0; part < 8; part++) {
            body.write('part');
            await delay(100);
          }
          body.end();
        });
        assert.equal(answer.status, 200);
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
        const answer = await open(context, router.port, async (body) => {
          while (written < 64 * mebibyte) {
            written += chunk.length;
            if (body.write(chunk)) continue;
            const timer = setTimeout(stalled.resolve, 500);
            await once(body, 'drain').catch(() => {});
            clearTimeout(timer);
          }
          stalled.resolve();
        });
        await stalled.promise;
        assert.ok(written < 24 * mebibyte, `${written} bytes were taken from the client`);
        answer.leave();
      });

      test('an answer before the end of the upload reaches the client', async (context) => {
        const peer = await startPeer(context, upstream, (_incoming, outgoing) => {
          outgoing.writeHead(413, { 'content-type': 'text/plain' });
          outgoing.end('too large');
        });
        const router = await startRouter(context, { destination: peer.destination });
        const answer = await open(context, router.port, (body) => {
          body.on('error', () => {});
          body.write(Buffer.alloc(mebibyte));
        });
        assert.equal(answer.status, 413);
        assert.equal(await next(answer.body), 'too large');
        assert.equal(await answer.ended, 'end');
      });
    });
  }
}
