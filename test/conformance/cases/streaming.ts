import assert from 'node:assert/strict';
import { firstHeader } from '../../../src/apimachinery/raw-headers.ts';
import { user } from '../callers.ts';
import { targets } from '../cluster.ts';
import type { CaseGroup, World } from '../conformance-case.ts';
import type { Peer, PeerAnswer, PeerRequest } from '../peers.ts';

const alice = user('alice');
/** As kubectl asks: it takes gzip, and a runtime that compresses answers would hold events back. */
const watch = { target: `${targets.peer3}?watch=true`, headers: ['Accept-Encoding', 'gzip'] };
const watchHead = ['Content-Type', 'application/json', 'Cache-Control', 'no-cache, private'];

export const streaming: CaseGroup = {
  title: 'Streams',
  cases: [
    {
      id: 'streaming/head-at-once',
      rule: 'The head of a watch reaches the client before its first event',
      citation: 'kubernetes.io: API concepts, efficient detection of changes',
      async run(world) {
        const { exchange, answer } = await beginWatch(world);
        answer.head(200, watchHead);
        const { status } = await exchange.answer;
        assert.equal(status, 200);
        answer.end();
      },
    },
    {
      id: 'streaming/event-by-event',
      rule: 'Each event of a watch reaches the client before the server sends the next one',
      citation: 'kubernetes.io: API concepts, efficient detection of changes',
      async run(world) {
        const { exchange, answer } = await beginWatch(world);
        answer.head(200, watchHead);
        const sentAt = performance.now();
        answer.write('event 1\n');
        const received = await exchange.answer;
        await received.body.until('event 1\n');
        // The server has not ended its answer: what holds events back until then would wait for ever here.
        world.figure('First event of a watch, head included', performance.now() - sentAt);
        for (let event = 2; event <= 5; event++) {
          const writtenAt = performance.now();
          answer.write(`event ${event}\n`);
          await received.body.until(`event ${event}\n`);
          if (event === 5) world.figure('Later event of a watch', performance.now() - writtenAt);
        }
        assert.equal(firstHeader(received.headers, 'content-encoding') ?? 'identity', 'identity');
        answer.end();
        assert.equal(await received.body.toEnd(), 'event 1\nevent 2\nevent 3\nevent 4\nevent 5\n');
      },
    },
    {
      id: 'streaming/client-left',
      rule: 'A client that has left a watch takes the request to the server with it, at its next events at the latest',
      citation: 'RFC 9113 section 5.4.2; RFC 9112 section 9.6',
      async run(world) {
        const { exchange, request, answer } = await beginWatchWithEvent(world);
        exchange.disconnect();
        const events = setInterval(() => answer.write('event\n'), 10);
        assert.equal(await request.over.finally(() => clearInterval(events)), 'gone');
      },
    },
    {
      id: 'streaming/client-leaves',
      rule: 'A client that leaves a watch ends the request to the server at once',
      citation: 'RFC 9113 section 5.4.2; RFC 9112 section 9.6',
      async run(world) {
        const { exchange, request } = await beginWatchWithEvent(world);
        const leftAt = performance.now();
        exchange.disconnect();
        assert.equal(await request.over, 'gone');
        world.figure('Departure of a client, until the server sees it', performance.now() - leftAt);
      },
    },
    {
      id: 'streaming/client-leaves-early',
      rule: 'So does one that leaves before there is a response',
      citation: 'RFC 9113 section 5.4.2; RFC 9112 section 9.6',
      async run(world) {
        const { exchange, request } = await beginWatch(world);
        exchange.disconnect();
        assert.equal(await request.over, 'gone');
      },
    },
    {
      id: 'streaming/server-breaks-off',
      rule: 'A response of unknown length that breaks off is an error to the client, never a clean end',
      citation: 'RFC 9112 section 8',
      run: (world) => breaksOff(world, []),
    },
    {
      id: 'streaming/server-breaks-off-short-of-length',
      rule: 'So is one that breaks off short of its length',
      citation: 'RFC 9112 section 8',
      run: (world) => breaksOff(world, ['Content-Length', '1000']),
    },
    {
      id: 'streaming/upload-piece-by-piece',
      rule: 'Each piece of a body reaches the server before the client sends the next one',
      citation: 'design: bodies are never buffered',
      async run(world) {
        const { exchange, request, answer } = await beginUpload(world, 'piece 1;');
        await request.body.until('piece 1;');
        for (const piece of ['piece 2;', 'piece 3;']) {
          exchange.write(piece);
          await request.body.until(piece);
        }
        exchange.end();
        assert.equal(await request.body.toEnd(), 'piece 1;piece 2;piece 3;');
        answer.head(201, ['Content-Length', '2']);
        answer.end('ok');
        const { status, body } = await exchange.answer;
        assert.equal(status, 201);
        assert.equal(await body.toEnd(), 'ok');
      },
    },
    {
      id: 'streaming/upload-breaks-off',
      rule: 'A client that leaves in the middle of its body leaves the server with an error, never with a whole body',
      citation: 'RFC 9112 section 8',
      async run(world) {
        const { exchange, request } = await beginUpload(world, 'half');
        await request.body.until('half');
        exchange.disconnect();
        assert.equal(await request.over, 'gone');
        assert.equal(await request.body.outcome(), 'broken');
      },
    },
  ],
};

/** A watch that has reached its server. */
async function beginWatch(world: World) {
  const started = serverStream(world.cluster.peer3);
  const exchange = await world.send(watch, alice);
  return { exchange, ...(await started) };
}

/** One that has shown its client an event. */
async function beginWatchWithEvent(world: World) {
  const begun = await beginWatch(world);
  begun.answer.head(200, watchHead);
  begun.answer.write('event 1\n');
  await (await begun.exchange.answer).body.until('event 1\n');
  return begun;
}

/** An upload whose head, and perhaps its first piece, has reached its server. */
async function beginUpload(world: World, piece: string) {
  const started = serverStream(world.cluster.peer3);
  const exchange = await world.send({ target: targets.peer3, method: 'POST', streamed: true }, alice);
  exchange.write(piece);
  return { exchange, ...(await started) };
}

/** The next request at `peer`, and the response, which the case writes. */
function serverStream(peer: Peer): Promise<{ readonly request: PeerRequest; readonly answer: PeerAnswer }> {
  return new Promise((resolve) => {
    peer.script = (request, answer) => resolve({ request, answer });
  });
}

async function breaksOff({ cluster, open }: World, length: readonly string[]): Promise<void> {
  // One speaks HTTP/1.1, the other HTTP/2 where the router does.
  for (const [peer, target, method] of [
    [cluster.peer1, targets.peer1, 'PATCH'],
    [cluster.peer3, targets.peer3, 'GET'],
  ] as const) {
    const started = serverStream(peer);
    const opened = open({ target, method }, alice);
    const { answer } = await started;
    answer.head(200, ['Content-Type', 'application/json', ...length]);
    answer.write('{"half":');
    const { body } = await opened;
    await body.until('half');
    answer.breakOff();
    assert.equal(await body.outcome(), 'broken', peer.id);
  }
}
