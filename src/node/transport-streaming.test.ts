import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { constants } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  askHttp1,
  askHttp2,
  http2Client,
  type PeerIncoming,
  type PeerOutgoing,
  type Protocol,
  servingAuthority,
  startPeer,
} from '../../test/support/node-exchange.ts';
import { startRouter } from '../../test/support/node-router.ts';

const mebibyte = 1024 * 1024;
const protocols: readonly Protocol[] = ['h2', 'http/1.1'];

/** An answer in progress at the client's end, whichever protocol it came by. */
interface OpenAnswer {
  readonly status: number;
  readonly body: NodeJS.ReadableStream & { destroyed: boolean };
  /** The client goes away. */
  leave(): void;
  /** How the body ended: `end`, or what broke it off. */
  readonly ended: Promise<string>;
}

type OpenRequest = (
  context: TestContext,
  port: number,
  write?: (body: NodeJS.WritableStream) => void,
) => Promise<OpenAnswer>;

/** Asks and gives the answer as soon as its head is there. With `write` the request is a POST with a body. */
const openOver: Record<Protocol, OpenRequest> = {
  'http/1.1': async (context, port, write) => {
    const method = write === undefined ? 'GET' : 'POST';
    const ca = servingAuthority.certificate;
    const outgoing = httpsRequest({ host: '127.0.0.1', port, method, agent: false, ca });
    context.after(() => outgoing.destroy());
    if (write === undefined) outgoing.end();
    else {
      outgoing.flushHeaders();
      write(outgoing);
    }
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    const ended = new Promise<string>((resolve) => {
      incoming.once('end', () => resolve('end'));
      incoming.once('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
    });
    outgoing.on('error', () => {});
    return { status: incoming.statusCode ?? 0, body: incoming, leave: () => outgoing.destroy(), ended };
  },
  h2: async (context, port, write) => {
    const session = http2Client(context, port);
    const leaving = new AbortController();
    const { signal } = leaving;
    const stream = session.request({ ':method': write === undefined ? 'GET' : 'POST' }, { signal });
    write?.(stream);
    const [head] = await once(stream, 'response');
    const ended = new Promise<string>((resolve) => {
      stream.once('end', () => {
        if (stream.rstCode === constants.NGHTTP2_NO_ERROR) resolve('end');
      });
      stream.once('error', () => {});
      stream.once('close', () => resolve(`code ${stream.rstCode}`));
    });
    // Resets with CANCEL, as Go's client does; close() would end an upload in good order first.
    const leave = (): void => leaving.abort();
    return { status: Number(head[':status']), body: stream, leave, ended };
  },
};

/** How a client learns that an answer broke off. */
const brokenOff: Record<Protocol, string> = {
  'http/1.1': 'ECONNRESET',
  h2: `code ${constants.NGHTTP2_INTERNAL_ERROR}`,
};

/** Breaks an answer off in its middle, as a crashing server does. */
function breakOff(outgoing: PeerOutgoing): void {
  if ('stream' in outgoing) outgoing.stream.destroy(new Error('crashed'));
  else outgoing.destroy();
}

async function next(body: NodeJS.ReadableStream): Promise<string> {
  const [chunk] = (await once(body, 'data')) as [Buffer];
  return chunk.toString();
}

for (const client of protocols) {
  for (const upstream of protocols) {
    describe(`a client on ${client}, a destination on ${upstream}`, () => {
      const open = openOver[client];

      test('a watch: the head comes before the first event, then each event at once', async (context) => {
        let watch: PeerOutgoing | undefined;
        const peer = await startPeer(context, upstream, (_incoming, outgoing) => {
          outgoing.writeHead(200, { 'content-type': 'application/json' });
          outgoing.flushHeaders();
          watch = outgoing;
        });
        const router = await startRouter(context, { destination: peer.destination });
        // Resolves although the destination has not sent one byte of its body.
        const answer = await open(context, router.port);
        assert.equal(answer.status, 200);
        for (const event of ['{"type":"ADDED"}\n', '{"type":"MODIFIED"}\n', '{"type":"DELETED"}\n']) {
          watch?.write(event);
          assert.equal(await next(answer.body), event);
        }
        watch?.end();
        answer.body.resume();
        assert.equal(await answer.ended, 'end');
      });

      test('trap 6: a watch is never cut for being quiet, before its head or after', async (context) => {
        const peer = await startPeer(context, upstream, async (_incoming, outgoing) => {
          await delay(200);
          outgoing.writeHead(200);
          outgoing.flushHeaders();
          await delay(200);
          outgoing.end('event');
        });
        const router = await startRouter(context, {
          destination: peer.destination,
          outbound: { longRunning: true },
          transport: { headTimeout: 50 },
        });
        const answer = await open(context, router.port);
        assert.equal(await next(answer.body), 'event');
      });

      test('a client that goes away ends the request at the destination', async (context) => {
        const gone = Promise.withResolvers<void>();
        const peer = await startPeer(context, upstream, (_incoming, outgoing) => {
          outgoing.write('first');
          outgoing.once('close', gone.resolve);
        });
        const router = await startRouter(context, { destination: peer.destination });
        const answer = await open(context, router.port);
        await next(answer.body);
        answer.leave();
        await gone.promise;
      });

      test('an answer that breaks off breaks the client’s stream, never ends it', async (context) => {
        let answering: PeerOutgoing | undefined;
        const peer = await startPeer(context, upstream, (_incoming, outgoing) => {
          outgoing.write('first');
          answering = outgoing;
        });
        const router = await startRouter(context, { destination: peer.destination });
        const answer = await open(context, router.port);
        await next(answer.body);
        assert.ok(answering);
        breakOff(answering);
        answer.body.resume();
        assert.equal(await answer.ended, brokenOff[client]);
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
            const drained = once(outgoing, 'drain');
            // Nothing moves for a while: both windows and both sockets' buffers are full.
            const timer = setTimeout(stalled.resolve, 500);
            await drained;
            clearTimeout(timer);
          }
          outgoing.end();
        });
        const router = await startRouter(context, { destination: peer.destination });
        const answer = await open(context, router.port);
        answer.body.pause();
        await stalled.promise;
        // Socket buffers of the kernel on both connections are the most of it.
        assert.ok(written < 24 * mebibyte, `${written} bytes were taken from the destination`);
        let received = 0;
        answer.body.on('data', (data: Buffer) => {
          received += data.length;
        });
        answer.body.resume();
        assert.equal(await answer.ended, 'end');
        assert.equal(received, total);
      });

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

    test('a redirect is passed on, not followed', async (context) => {
      let requests = 0;
      const peer = await startPeer(context, upstream, (_incoming, outgoing) => {
        requests++;
        outgoing.writeHead(302, { location: '/elsewhere' });
        outgoing.end();
      });
      const router = await startRouter(context, { destination: peer.destination });
      assert.equal((await askHttp1(router.port)).status, 302);
      assert.equal(requests, 1);
    });

    test('an answer that is replaced is given up at the destination, its body unread', async (context) => {
      const closed = Promise.withResolvers<void>();
      const peer = await startPeer(context, upstream, (_incoming, outgoing) => {
        outgoing.on('error', () => {});
        outgoing.writeHead(404);
        outgoing.write('not found');
        outgoing.once('close', closed.resolve);
      });
      const router = await startRouter(context, {
        destination: peer.destination,
        onResponseHead: () => ({ kind: 'replace', response: new Response('instead', { status: 503 }) }),
      });
      const answer = await askHttp1(router.port);
      assert.equal(answer.status, 503);
      assert.equal(answer.body.toString(), 'instead');
      await closed.promise;
    });
  });
}
