import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { ConnectionEnd } from './connection.ts';
import {
  allOver,
  assertHolds,
  type Conversation,
  conversations,
  type Outcome,
  requestHeadOf,
  Seen,
} from './exchanges.ts';
import { fuzz } from './fuzz.ts';
import { NodeClient, NodeServer } from './node-sides.ts';
import { OurClient, OurServer } from './our-sides.ts';

/** As our server passes them on: lines of `cookie` as one, behind the others (RFC 9113 section 8.2.3). */
function withOneCookie(head: readonly string[]): string[] {
  const at = (index: number): boolean => head[index - (index % 2)] === 'cookie';
  const cookies = head.filter((_, index) => at(index) && index % 2 === 1);
  if (cookies.length < 2) return [...head];
  return [...head.filter((_, index) => !at(index)), 'cookie', cookies.join('; ')];
}

/** No line of ours may be indexed, but for what the static table has (RFC 7541 section 7.1.3). */
function assertNeverIndexed({ head, neverIndexed }: Seen): void {
  if (head === undefined) return;
  const literals = head.filter((name, index) => {
    const value = head[index + 1] ?? '';
    if (index % 2 === 1 || name === ':scheme') return false;
    if (name === ':method') return value !== 'GET' && value !== 'POST';
    return name !== ':status' || !['200', '204', '304', '404'].includes(value);
  });
  assert.deepEqual(neverIndexed, literals);
}

/** Timers go off so rarely that what was written before has arrived. */
const turnsOfTimers = 30;

fuzz<Conversation>({
  name: 'http2-exchanges',
  runs: 50,
  arbitrary: conversations,
  async holds(conversation, context) {
    const { ours, groups, windows, cuts, goesAway, ourWindow } = conversation;
    // A response before the end of its request, and what follows: 100 ms later.
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const outcomes = groups.map((group, index) =>
      group.map((exchange, place): Outcome => {
        const isLate = goesAway && index === groups.length - 1 && place > 0;
        return { exchange, request: new Seen(), response: new Seen(), isLate };
      }),
    );
    const inOrder = outcomes.flat();
    const find = (path: string): Outcome | undefined => inOrder[Number(path.slice(1))];
    const [near, far] = ConnectionEnd.pair(cuts);
    const isClient = ours === 'client';
    const client = isClient
      ? new OurClient(near, {
          streamWindow: ourWindow,
          maximumHeaderLines: 1_000,
          maximumHeaderBytes: 2 ** 18,
        })
      : new NodeClient(near, conversation);
    const server = isClient
      ? new NodeServer(far, conversation, find, outcomes.at(-1)?.[0])
      : new OurServer(far, { limits: { streamWindow: ourWindow } }, ({ head }) => find(head.target));
    try {
      for (const [index, group] of outcomes.entries()) {
        for (const outcome of group) client.ask(outcome, inOrder.indexOf(outcome));
        const window = windows[index];
        if (index > 0 && window !== undefined) {
          for (const side of [client, server]) if ('changeWindow' in side) side.changeWindow(window);
        }
        await allOver(group, (turns) => {
          if (turns % turnsOfTimers === 0) context.mock.timers.tick(100);
          client.check();
          server.check();
        });
      }
      for (const [number, outcome] of inOrder.entries()) {
        const head = requestHeadOf(outcome.exchange, number);
        if (isClient) assertNeverIndexed(outcome.request);
        else {
          const { head: response } = outcome.response;
          assertNeverIndexed(outcome.response);
          if (response !== undefined) outcome.response.head = response.slice(0, response.lastIndexOf('date'));
        }
        assertHolds(outcome, isClient ? head : withOneCookie(head));
      }
      if (server instanceof OurServer) await server.close();
    } finally {
      near.destroy();
      far.destroy();
      // Before the reset: a timer that is cleared after it would take one of the next run with it.
      await setImmediate();
      context.mock.timers.reset();
    }
  },
});
