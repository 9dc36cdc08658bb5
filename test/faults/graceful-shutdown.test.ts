import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Outgoing } from '../support/api-servers/api-server-double.ts';
import { ask } from '../support/clients/ask.ts';
import { type RawHttp1, rawHttp1 } from '../support/clients/raw-http1.ts';
import { frameFlag, frameType, type RawHttp2, rawHttp2 } from '../support/clients/raw-http2.ts';
import { eventually } from '../support/eventually.ts';
import { type RouterUnderTest, startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';
import type { FlagChanges } from '../support/routers/serve-options.ts';

const watchPath = `${targets.peer}?watch=true`;

const head = (method: string, target: string, lines = ''): string =>
  `${method} ${target} HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n`;
const lines = (target: string): string[] => [
  ...[':method', 'GET', ':scheme', 'https', ':authority', 'localhost'],
  ...[':path', target],
];

/** The body of an answer in chunks. @throws when it does not end with the last chunk. */
function chunkedBody(answer: string): string {
  let rest = answer.slice(answer.indexOf('\r\n\r\n') + 4);
  let body = '';
  for (;;) {
    const lineEnd = rest.indexOf('\r\n');
    const length = Number.parseInt(rest.slice(0, lineEnd), 16);
    if (length === 0) return body;
    assert.ok(length > 0, `no last chunk: ${JSON.stringify(rest)}`);
    body += rest.slice(lineEnd + 2, lineEnd + 2 + length);
    rest = rest.slice(lineEnd + 2 + length + 2);
  }
}

interface Cluster extends RouterUnderTest {
  /** Answers at the peer that are still open, by target. */
  readonly open: Map<string, Outgoing[]>;
}

/** A router whose peer begins watches and leaves everything else unanswered. */
async function start(context: TestContext, flags: FlagChanges): Promise<Cluster> {
  const router = await startRouterUnderTest(context, { flags });
  const open = new Map<string, Outgoing[]>();
  router.peer.answer = (outgoing, { target }) => {
    open.set(target, [...(open.get(target) ?? []), outgoing]);
    if (!target.includes('watch=true')) return;
    outgoing.writeHead(200, { 'content-type': 'application/json' });
    outgoing.write('{"type":"ADDED"}\n');
  };
  return { ...router, open };
}

async function watchOverHttp1(context: TestContext, { port }: Cluster): Promise<RawHttp1> {
  const watch = await rawHttp1(context, port, 'admin');
  watch.write(head('GET', watchPath));
  await watch.until((received) => received.includes('ADDED'));
  return watch;
}

const dataOf = (raw: RawHttp2, stream: number): string =>
  raw.frames
    .filter((frame) => frame.type === frameType.data && frame.stream === stream)
    .map(({ payload }) => payload.toString('latin1'))
    .join('');
const hasEnded = (raw: RawHttp2, stream: number): boolean =>
  raw.frames.some(
    ({ type, flags, stream: on }) =>
      on === stream && type === frameType.data && (flags & frameFlag.endStream) !== 0,
  );
const wasReset = (raw: RawHttp2, stream: number): boolean =>
  raw.frames.some((frame) => frame.type === frameType.rstStream && frame.stream === stream);
const gotGoAway = (raw: RawHttp2): boolean => raw.frames.some(({ type }) => type === frameType.goAway);

test('what is under way ends well, clients are told to go elsewhere, and nobody new comes in', async (context) => {
  const router = await start(context, { 'shutdown-watch-termination-grace-period': ['1s'] });
  const watch = await watchOverHttp1(context, router);
  const slow = await rawHttp1(context, router.port, 'admin');
  slow.write(head('GET', targets.peer));
  const overHttp2 = await rawHttp2(context, router.port, 'admin');
  overHttp2.request(1, lines(watchPath));
  overHttp2.request(3, lines(`${targets.peer}?over=http2`));
  await eventually(() => dataOf(overHttp2, 1).includes('ADDED') && router.open.size === 3);

  const ended = router.running.shutdown();
  await eventually(() => gotGoAway(overHttp2));
  await assert.rejects(ask(router.port, { client: 'admin', path: '/livez' }), { code: 'ECONNREFUSED' });

  for (const target of [targets.peer, `${targets.peer}?over=http2`]) {
    for (const outgoing of router.open.get(target) ?? []) outgoing.end('whole');
  }
  assert.match(await slow.untilEnd(), /^HTTP\/1\.1 200 OK\r\n.*\r\nConnection: close\r\n.*whole/is);
  await eventually(() => hasEnded(overHttp2, 3));
  assert.equal(dataOf(overHttp2, 3), 'whole');

  const received = await watch.untilEnd();
  assert.equal(chunkedBody(received), '{"type":"ADDED"}\n');
  await eventually(() => hasEnded(overHttp2, 1));
  assert.equal(dataOf(overHttp2, 1), '{"type":"ADDED"}\n');
  assert.equal(wasReset(overHttp2, 1), false);
  await ended;
  await eventually(() =>
    router.peer.requests.every(({ target, aborted }) => aborted || target !== watchPath),
  );
});

test('a busy watch ends between two events, wherever the pieces of its events end', async (context) => {
  const router = await start(context, { 'shutdown-watch-termination-grace-period': ['2s'] });
  const watch = await watchOverHttp1(context, router);
  const [outgoing] = router.open.get(watchPath) ?? [];
  let pieces = 0;
  outgoing?.write('{"ty');
  const busy = setInterval(() => outgoing?.write(pieces++ % 2 === 0 ? 'pe":"MOD' : 'IFIED"}\n{"ty'), 5);
  context.after(() => clearInterval(busy));

  const ended = router.running.shutdown();
  const body = chunkedBody(await watch.untilEnd());
  assert.ok(body.endsWith('\n'), 'the body ends behind an event');
  for (const line of body.trimEnd().split('\n')) assert.match(JSON.parse(line).type, /^(ADDED|MODIFIED)$/);
  await ended;
});

test('a watch that stays in the middle of an event is broken off in the end', async (context) => {
  const router = await start(context, { 'shutdown-watch-termination-grace-period': ['200ms'] });
  const watch = await watchOverHttp1(context, router);
  const [outgoing] = router.open.get(watchPath) ?? [];
  outgoing?.write('{"type":"MOD');
  await watch.until((received) => received.includes('MOD'));
  await router.running.shutdown();
  const received = await watch.untilEnd();
  assert.ok(received.endsWith('{"type":"MOD\r\n'), JSON.stringify(received));
});

test('a tunnel lives on for the grace period, and then both its ends close', async (context) => {
  const router = await start(context, { 'shutdown-watch-termination-grace-period': ['2s'] });
  const tunnel = await rawHttp1(context, router.port, 'admin');
  const exec = '/api/v1/namespaces/default/pods/a/exec?command=sh';
  tunnel.write(head('POST', exec, 'Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n'));
  await tunnel.until((received) => received.includes('101 Switching'));

  const ended = router.running.shutdown();
  tunnel.write('still here');
  await tunnel.until((received) => received.includes('STILL HERE'));
  await tunnel.untilEnd();
  await ended;
});

test('--shutdown-delay-duration: not ready any more, and everything else as before', async (context) => {
  const router = await start(context, { 'shutdown-delay-duration': ['2500ms'] });
  const ended = router.running.shutdown();
  // All at once, so that a busy machine has sent them before the delay is over.
  const [ready, ...others] = await Promise.all([
    ask(router.port, { path: '/readyz?verbose' }),
    ask(router.port, { path: '/readyz/shutdown' }),
    ask(router.port, { path: '/livez' }),
    ask(router.port, { protocol: 'http/1.1', client: 'admin', path: targets.local }),
    ask(router.port, { protocol: 'h2', client: 'admin', path: targets.local }),
  ]);
  assert.equal(ready.status, 500);
  assert.match(ready.body, /^\[-\]shutdown failed: reason withheld$/m);
  assert.deepEqual(
    others.map(({ status }) => status),
    [500, 200, 200, 200],
  );
  await ended;
  await assert.rejects(ask(router.port, { path: '/livez' }), { code: 'ECONNREFUSED' });
});

test('a request that never ends holds the shutdown up for --request-timeout at the most', async (context) => {
  const router = await start(context, {
    'request-timeout': ['1s'],
    'shutdown-watch-termination-grace-period': ['0s'],
  });
  const stuck = await rawHttp1(context, router.port, 'admin');
  stuck.write(head('GET', targets.peer));
  await eventually(() => router.open.size === 1);
  await Promise.all([router.running.shutdown(), stuck.untilEnd()]);
});
