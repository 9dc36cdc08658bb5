import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import fc from 'fast-check';
import type { RequestHead } from '../../../src/http2/server/request-head.ts';
import { ServerSession } from '../../../src/http2/server/server-session.ts';
import { fuzz } from '../fuzz-target.ts';
import { settings, windowUpdate } from '../http2/client-frames.ts';
import { ClientSocket } from '../http2/client-socket.ts';
import { conversations, opening, pieces } from '../http2/conversations.ts';
import { limits } from '../http2/expected-answers.ts';
import { type Exchange, type Handling, Host } from '../http2/host.ts';
import { Client } from '../http2/written-by-client.ts';
import { mutated } from '../mutation.ts';

interface Requests {
  /** What a client writes, as a byte string. */
  readonly bytes: string;
  /** Where it is cut into pieces. */
  readonly cuts: readonly number[];
  /** Of the first request, the second, …, and round again. */
  readonly handling: readonly Handling[];
  /** Whether the client takes one write at a time, between two pieces of its own. */
  readonly isSlow: boolean;
  /** Behind which of the client's pieces the router takes no more requests; `null` for none. */
  readonly closedBehind: number | null;
  /** What has the client take all that is still to come. */
  readonly lastGrant: 'streams first' | 'streams last' | 'settings';
}

/** More than all answers of a connection. */
const wideWindow = 2 ** 23;

const connectionSpecific = /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade)$/;

function assertValidHead({ method, target, headers }: RequestHead): void {
  assert.match(method, /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/);
  assert.match(target, method === 'CONNECT' ? /^$/ : method === 'OPTIONS' ? /^(?:\/|\*$)/ : /^\//);
  assert.doesNotMatch(target, /[\r\n\0]/);
  assert.equal(headers.length % 2, 0);
  for (const [index, text] of headers.entries()) {
    if (index % 2 === 1) {
      assert.doesNotMatch(text, /[\r\n\0]/);
      if (headers[index - 1] === 'te') assert.equal(text.toLowerCase(), 'trailers');
    } else {
      assert.match(text, /^[^A-Z:\s\0]+$/);
      assert.doesNotMatch(text, connectionSpecific);
    }
  }
}

/** A part of what the client has sent, or all of it. */
function assertIsContentOf(client: Client, { stream, received, hasEnded }: Exchange): void {
  const read = Buffer.concat(received);
  const sent = Buffer.concat(client.content.get(stream.id) ?? []);
  assert.ok(sent.subarray(0, read.length).equals(read), 'other content');
  if (!hasEnded) return;
  assert.equal(read.length, stream.head.contentLength ?? sent.length);
}

/** Grants all that answers can need. @returns whether anybody would be heard at all */
function grantAll(socket: ClientSocket, host: Host, bytes: Buffer, how: Requests['lastGrant']): boolean {
  const { answers } = socket;
  const { client } = answers;
  if (!client.isAtFrame || client.leaves || answers.goAwayCode !== undefined) return false;
  if (socket.destroyed || !socket.writable) return false;
  const open = host.exchanges.filter(({ timesClosed }) => timesClosed === 0).map(({ stream }) => stream.id);
  const updates = (streams: readonly number[]): Buffer[] =>
    streams
      .filter((stream) => answers.windowOf(stream) < wideWindow)
      .map((stream) => windowUpdate(stream, wideWindow));
  // No window may become too large.
  const bySettings = how === 'settings' && open.every((stream) => answers.windowOf(stream) < 2 ** 30);
  const onStreams = bySettings ? [settings(4, wideWindow)] : updates(open);
  const onConnection = updates([0]);
  const grants = how === 'streams first' ? [...onStreams, ...onConnection] : [...onConnection, ...onStreams];
  answers.client = new Client(Buffer.concat([bytes, ...grants]));
  // One at a time: none is to do the work of another.
  for (const grant of grants) socket.push(grant);
  return true;
}

fuzz<Requests>({
  name: 'http2-requests',
  runs: 300,
  arbitrary: fc.record({
    bytes: fc
      .tuple(
        fc.oneof({ weight: 9, arbitrary: fc.constant(opening) }, mutated(fc.constant(opening), pieces)),
        fc.oneof(conversations, mutated(conversations, pieces)),
      )
      .map((parts) => parts.join('')),
    cuts: fc.array(fc.nat({ max: 1_000_000 }), { maxLength: 6 }),
    handling: fc.array(
      fc.record({
        answer: fc.constantFrom('at once', 'in pieces', 'in pieces', 'unheld', 'broken off', 'never'),
        reads: fc.boolean(),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    isSlow: fc.boolean(),
    closedBehind: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, fc.nat({ max: 6 })),
    lastGrant: fc.constantFrom('streams first', 'streams last', 'settings'),
  }),
  async holds({ bytes, cuts, handling, isSlow, closedBehind, lastGrant }) {
    const socket = new ClientSocket(isSlow);
    const { answers } = socket;
    // Nothing is written behind its end.
    socket.on('error', (error) => {
      socket.failure ??= error;
    });
    const over = Promise.withResolvers<void>();
    socket.once('close', over.resolve);
    const host = new Host(handling);
    // It stands for one of node:tls: the session asks no more of it.
    const session = new ServerSession(socket as Duplex as TLSSocket, host);
    const nextTurn = async (): Promise<void> => {
      await turn();
      socket.takeWrite();
    };
    // From here on what is pushed is read at once, and what that throws is thrown here.
    await nextTurn();
    const all = Buffer.from(bytes, 'latin1');
    const ends = [...cuts.map((cut) => cut % (all.length + 1)), all.length].sort((a, b) => a - b);
    let start = 0;
    for (const [index, end] of ends.entries()) {
      if (socket.destroyed) break;
      answers.client = new Client(all.subarray(0, end));
      if (start < end) socket.push(Buffer.from(all.subarray(start, end)));
      start = end;
      if (index === closedBehind) session.close();
      await nextTurn();
    }
    for (let turns = 0; turns < 3; turns++) await nextTurn();
    const isAllAnswered = (): boolean =>
      host.exchanges.every((each) => each.handling.answer === 'never' || each.timesClosed > 0);
    if (socket.failure === undefined && grantAll(socket, host, all, lastGrant)) {
      for (let turns = 0; turns < 200 && !isAllAnswered(); turns++) await nextTurn();
      assert.ok(isAllAnswered(), 'an answer does not come to its end');
      for (let turns = 0; turns < 50 && isSlow; turns++) await nextTurn();
      await nextTurn();
      if (socket.failure === undefined) answers.end();
    }
    socket.destroy();
    await over.promise;
    await nextTurn();

    if (socket.failure !== undefined) throw socket.failure;
    if (host.failure !== undefined) throw host.failure;
    assert.ok(host.mostOpen <= limits.maxConcurrentStreams, `${host.mostOpen} streams at a time`);
    for (const exchange of host.exchanges) {
      assert.equal(exchange.timesClosed, 1);
      assertValidHead(exchange.stream.head);
      assertIsContentOf(answers.client, exchange);
    }
  },
});
