import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { eventually } from '../../test/support/eventually.ts';
import { credentials, outboundTo, type Peer, startRawPeer } from '../../test/support/node-exchange.ts';
import { failureOf, get } from '../../test/support/node-transport.ts';
import { answerSinkFor } from './answer-sink.ts';
import { Exchange } from './exchange.ts';
import { Http1ReadConnections } from './http1-read-connections.ts';
import { TlsDialer } from './tls-dialer.ts';

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** Answers each head that arrives; the answer may depend on how many came before, on any connection. */
function answering(context: TestContext, answer: (socket: TLSSocket, count: number) => void): Promise<Peer> {
  let count = 0;
  return startRawPeer(context, (socket) => {
    socket.on('data', () => answer(socket, count++));
  });
}

/** Connections to `peer`, one of them open. Reads that they do not take are counted in `missed`. */
async function readsFrom(context: TestContext, peer: Peer, maximum = 1) {
  const { destination } = peer;
  const dialer = new TlsDialer(credentials, 5_000);
  const authority = new URL(destination.origin).host;
  const connections = new Http1ReadConnections({
    authority,
    maximum,
    keepAliveTimeout: 30_000,
    connect: (inbox) =>
      dialer.dial({
        destination,
        presentFrontProxyCertificate: true,
        protocols: ['http/1.1'],
        onread: inbox.onread,
      }),
  });
  context.after(() => connections.destroy());
  const newExchange = (): Exchange =>
    new Exchange({
      origin: destination.origin,
      sink: answerSinkFor(get()),
      onResponseHead: ({ headers }) => ({ kind: 'forward', headers }),
      headTimeout: 0,
      bodyOpened: () => false,
    });
  const unanswered: Exchange[] = [];
  /** @returns undefined: not taken. */
  const ask = (method = 'GET', longRunning = false): Promise<Response> | undefined => {
    const exchange = newExchange();
    const outbound = outboundTo(destination, { method, longRunning });
    const taken = connections.send(outbound, exchange, () => unanswered.push(exchange));
    return taken ? exchange.response : undefined;
  };
  let misses = 0;
  while (peer.connections() === 0 && misses < 1_000) {
    assert.equal(ask(), undefined);
    misses++;
    if (misses % 16 === 0) await eventually(() => peer.connections() > 0 || misses < 16);
  }
  /** Asks as soon as a connection is idle. */
  const askIdle = async (method?: string): Promise<Response> => {
    let answer: Promise<Response> | undefined;
    await eventually(() => {
      answer ??= ask(method);
      return answer !== undefined;
    });
    return answer ?? assert.fail('no connection was idle');
  };
  return { connections, ask, askIdle, unanswered, misses };
}

describe('connections for short reads', () => {
  test('are opened once enough reads have missed one, and carry one read after the other', async (context) => {
    const peer = await answering(context, (socket) => socket.write(ok));
    const { askIdle, misses } = await readsFrom(context, peer);
    assert.equal(misses, 16);
    for (let count = 0; count < 5; count++) assert.equal(await (await askIdle()).text(), 'ok');
    assert.equal(peer.connections(), 1);
  });

  test('take neither writes nor what is long-running', async (context) => {
    const peer = await answering(context, (socket) => socket.write(ok));
    const { ask, askIdle } = await readsFrom(context, peer);
    await (await askIdle()).text();
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) assert.equal(ask(method), undefined);
    assert.equal(ask('GET', true), undefined);
    assert.equal(await (await askIdle()).text(), 'ok');
  });

  test('pass on chunks, interim heads and heads in pieces, and HEAD without a body', async (context) => {
    const answers = [
      [
        'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-',
        'Encoding: chunked\r\n\r\n2\r\no',
        'k\r\n0\r\n\r\n',
      ],
      ['HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n'],
      [ok],
    ];
    const peer = await answering(context, (socket, count) => {
      const [first = '', ...rest] = answers[count] ?? [];
      socket.write(first);
      for (const [index, piece] of rest.entries()) {
        setTimeout(() => socket.write(piece), 10 * (index + 1));
      }
    });
    const { askIdle } = await readsFrom(context, peer);
    const chunked = await askIdle();
    assert.equal(chunked.headers.get('link'), null);
    assert.equal(await chunked.text(), 'ok');
    assert.equal((await askIdle('HEAD')).headers.get('content-length'), '5000');
    assert.equal(await (await askIdle()).text(), 'ok');
    assert.equal(peer.connections(), 1);
  });

  test('attack: bytes behind an answer are not taken for the answer to the next read', async (context) => {
    const peer = await answering(context, (socket) =>
      socket.write(`${ok}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`),
    );
    const { askIdle } = await readsFrom(context, peer);
    assert.equal(await (await askIdle()).text(), 'ok');
    await eventually(() => peer.openConnections() === 0);
  });

  test("attack: bytes held back behind an answer with a slow reader are not the next caller's", async (context) => {
    const answered: TLSSocket[] = [];
    const peer = await answering(context, (socket) => {
      socket.write(ok);
      answered.push(socket);
    });
    const { ask, askIdle, connections } = await readsFrom(context, peer);
    const slow = await askIdle();
    // Comes while the connection is paused for a reader that has not begun to read.
    answered[0]?.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret');
    await eventually(() => connections.isEmpty);
    const next = ask();
    assert.equal(next, undefined);
    assert.equal(await slow.text(), 'ok');
  });

  test('attack: an answer to nothing ends the connection', async (context) => {
    const sockets: TLSSocket[] = [];
    const peer = await startRawPeer(context, (socket) => void sockets.push(socket));
    const { connections } = await readsFrom(context, peer);
    await eventually(() => sockets.length > 0);
    sockets[0]?.write(ok);
    await eventually(() => peer.openConnections() === 0 && connections.isEmpty);
  });

  test('a read whose connection ends before its answer may go another way, one with half an answer fails', async (context) => {
    const peer = await answering(context, (socket) => socket.destroy());
    const { askIdle, unanswered } = await readsFrom(context, peer);
    // Nobody sends it again here.
    void askIdle();
    await eventually(() => unanswered.length === 1);
    assert.equal(unanswered[0]?.isOver, false);

    const half = await answering(context, (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-'));
    const second = await readsFrom(context, half);
    const failure = await failureOf(second.askIdle());
    assert.equal(failure.code, 'ConnectionClosed');
    assert.equal(failure.requestMayHaveArrived, true);
    assert.equal(second.unanswered.length, 0);
  });

  test('a body that breaks off is not whole', async (context) => {
    const peer = await answering(context, (socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'),
    );
    const { askIdle } = await readsFrom(context, peer);
    const answer = await askIdle();
    await assert.rejects(answer.text());
  });

  test('a faulty head fails the read and ends the connection', async (context) => {
    const peer = await answering(context, (socket) =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n'),
    );
    const { askIdle } = await readsFrom(context, peer);
    assert.equal((await failureOf(askIdle())).code, 'InvalidResponse');
    await eventually(() => peer.openConnections() === 0);
  });
});
