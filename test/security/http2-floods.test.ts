import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fieldBlock, indexed, indexedLiteral } from '../../packages/http2/test/hpack.ts';
import { protocols } from '../support/api-servers/api-server-double.ts';
import { ask } from '../support/clients/ask.ts';
import { frame, frameFlag, frameType, type RawHttp2, rawHttp2 } from '../support/clients/raw-http2.ts';
import { eventually } from '../support/eventually.ts';
import { type RouterUnderTest, startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';
import { heldMemory, inMegabytes } from '../support/security/memory.ts';

/** Bytes that the router, its servers and the attacker, all in this process, may hold on to after a flood. */
const memoryBound = 32 * 1024 * 1024;

const lines = [
  ...[':method', 'GET', ':scheme', 'https', ':authority', 'localhost'],
  ...[':path', `${targets.peer}?watch=true`],
];

/** Lets both ends do what the last frame made them do. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Repeats `step` until the router has had enough of the connection. @returns how often it took. */
async function floodUntilOver(raw: RawHttp2, most: number, step: (round: number) => void): Promise<number> {
  for (let round = 0; round < most; round++) {
    if (raw.isOver) return round;
    step(round);
    await turn();
  }
  await eventually(() => raw.isOver);
  return most;
}

/** The flood came from one connection: everybody else is served, and its memory is given back. */
async function assertUnharmed(context: TestContext, router: RouterUnderTest, before: number): Promise<void> {
  const answer = await ask(router.port, { protocol: 'h2', path: targets.local });
  assert.equal(answer.status, 200);
  const growth = heldMemory() - before;
  context.diagnostic(`memory after the flood: ${growth < 0 ? 'no more' : `${inMegabytes(growth)} more`}`);
  assert.ok(growth < memoryBound, `${inMegabytes(growth)} more than before`);
}

for (const destinations of protocols) {
  test(`S11: rapid reset (CVE-2023-44487) ends the connection and cancels the work at a server on ${destinations}`, async (context) => {
    const router = await startRouterUnderTest(context, { destinations });
    router.peer.answer = () => {};
    const raw = await rawHttp2(context, router.port);
    const before = heldMemory();
    // 33 resets a second are forgiven: a machine as slow as that could go on for minutes.
    const now = performance.now();
    const clock = context.mock.method(performance, 'now', () => now);

    const rounds = await floodUntilOver(raw, 4_000, (round) => {
      const stream = 2 * round + 1;
      raw.request(stream, lines);
      raw.write(frame(frameType.rstStream, frameFlag.none, stream, Buffer.from([0, 0, 0, 8])));
    });
    clock.mock.restore();

    context.diagnostic(`ended after ${rounds} resets; ${router.peer.requests.length} reached the peer`);
    assert.ok(router.peer.requests.length <= 201, 'more than the budget of resets reached the peer');
    assert.ok(rounds < 4_000, 'the flood was not ended');
    // Nothing goes on for a client that is gone.
    await eventually(() => router.peer.requests.every(({ aborted }) => aborted));
    await assertUnharmed(context, router, before);
  });

  test(`S11: a connection has 100 streams at the most, and their work at a server on ${destinations} ends with it`, async (context) => {
    const router = await startRouterUnderTest(context, { destinations });
    router.peer.answer = () => {};
    const raw = await rawHttp2(context, router.port);
    const settings =
      raw.frames.find(({ type }) => type === frameType.settings)?.payload.toString('hex') ?? '';
    assert.match(settings, /^(.{12})*000300000064/, 'SETTINGS_MAX_CONCURRENT_STREAMS is 100');

    for (let stream = 1; stream < 200; stream += 2) raw.request(stream, lines);
    await eventually(() => router.peer.requests.length === 100);
    assert.ok(!raw.isOver);
    // A client that reads its settings never does this (RFC 9113 section 5.1.2).
    await floodUntilOver(raw, 1_000, (round) => raw.request(201 + 2 * round, lines));

    assert.equal(router.peer.requests.length, 100);
    await eventually(() => router.peer.requests.every(({ aborted }) => aborted));
  });
}

test('S11: rapid reset by connecting anew is counted by address, and others there are none the worse', async (context) => {
  const router = await startRouterUnderTest(context);
  router.peer.answer = () => {};
  // Resets of an address are counted by time, and here all of them happen at once, however slow the machine is.
  const now = performance.now();
  context.mock.method(performance, 'now', () => now);
  const resets = (first: number, count: number): Buffer =>
    Buffer.concat(
      Array.from({ length: count }, (_, index) => first + 2 * index).flatMap((stream) => [
        frame(frameType.headers, frameFlag.endHeaders | frameFlag.endStream, stream, fieldBlock(lines)),
        frame(frameType.rstStream, frameFlag.none, stream, Buffer.from([0, 0, 0, 8])),
      ]),
    );
  // Each within what one connection may do; all at once, so that it does not matter how fast connections can be made.
  const connections: Awaited<ReturnType<typeof rawHttp2>>[] = [];
  while (connections.length < 30) connections.push(await rawHttp2(context, router.port));
  for (const raw of connections) raw.write(resets(1, 190));
  await eventually(() => connections.some(({ isOver }) => isOver));
  const anew = await rawHttp2(context, router.port);
  anew.write(resets(1, 150));
  await eventually(() => anew.isOver);
  const modest = await rawHttp2(context, router.port);
  modest.write(resets(1, 5));
  modest.request(11, [...lines.slice(0, 6), ':path', targets.local]);
  assert.equal((await modest.outcome(11)).status, 200);
  assert.ok(!modest.isOver);
  // A proxy's connection, with the requests of many.
  const verified = await rawHttp2(context, router.port, 'admin');
  verified.write(resets(1, 400));
  verified.request(801, [...lines.slice(0, 6), ':path', targets.local]);
  assert.equal((await verified.outcome(801)).status, 200);
  assert.ok(!verified.isOver);
});

for (const [what, payload] of Object.entries({
  'empty frames': Buffer.alloc(0),
  'small fields': fieldBlock(['x-test', 'a']),
  'frames of 16 KB': fieldBlock(['x-test', 'a'.repeat(16_000)]),
})) {
  test(`S11: a CONTINUATION flood of ${what} (CVE-2024-27316) ends the connection, and nothing travels`, async (context) => {
    const router = await startRouterUnderTest(context);
    const raw = await rawHttp2(context, router.port);
    const before = heldMemory();
    raw.write(frame(frameType.headers, frameFlag.endStream, 1, fieldBlock(lines)));

    const rounds = await floodUntilOver(raw, 1_000, () => {
      raw.write(frame(frameType.continuation, frameFlag.none, 1, payload));
    });

    context.diagnostic(`ended after ${rounds} frames`);
    assert.ok(rounds < 1_000, 'the flood was not ended');
    assert.deepEqual(router.peer.requests, []);
    await assertUnharmed(context, router, before);
  });
}

for (const [what, flood] of Object.entries({
  PING: frame(frameType.ping, frameFlag.none, 0, Buffer.alloc(8)),
  SETTINGS: frame(frameType.settings, frameFlag.none, 0),
})) {
  test(`S11: a ${what} flood of a client that reads no answers (CVE-2019-9512, -9515) ends the connection`, async (context) => {
    const router = await startRouterUnderTest(context);
    const raw = await rawHttp2(context, router.port);
    const before = heldMemory();
    const batch = Buffer.concat(Array.from({ length: 10_000 }, () => flood));
    raw.socket.pause();

    let batches = 0;
    while (!raw.ended && batches < 30) {
      batches++;
      if (raw.socket.write(batch)) await turn();
      else await eventually(() => raw.ended || !raw.socket.writableNeedDrain);
    }

    context.diagnostic(`ended after at most ${batches * 10_000} frames`);
    // Only whoever reads sees that a connection has ended in good order.
    raw.socket.resume();
    await eventually(() => raw.ended);
    const answers = raw.frames.filter(({ flags }) => flags === frameFlag.ack).length;
    assert.ok(answers < batches * 10_000, `all of ${answers} were answered`);
    await assertUnharmed(context, router, before);
  });
}

test('S11: an HPACK bomb (CVE-2016-1544) is not unpacked beyond the limit of a header', async (context) => {
  const router = await startRouterUnderTest(context);
  const raw = await rawHttp2(context, router.port);
  const before = heldMemory();
  // 16 KB that stand for 46 MB: one entry of the table, 12,000 times.
  const references = Array.from({ length: 12_000 }, () => indexed(62));
  const block = Buffer.concat([
    fieldBlock(lines),
    indexedLiteral('x-test', 'a'.repeat(3_900)),
    ...references,
  ]);
  raw.write(frame(frameType.headers, frameFlag.endHeaders | frameFlag.endStream, 1, block));

  const { status } = await raw.outcome(1);
  assert.ok(status === undefined || status >= 400);
  assert.deepEqual(router.peer.requests, []);
  await assertUnharmed(context, router, before);
});

test('S11: a flood of empty DATA frames (CVE-2019-9518) makes nobody hold anything', async (context) => {
  const router = await startRouterUnderTest(context);
  const raw = await rawHttp2(context, router.port);
  const before = heldMemory();
  raw.request(1, [':method', 'POST', ...lines.slice(2)], { endStream: false });
  raw.write(frame(frameType.data, frameFlag.none, 1, Buffer.from('a')));
  await router.peer.first();
  const empty = frame(frameType.data, frameFlag.none, 1);
  const batch = Buffer.concat(Array.from({ length: 1_000 }, () => empty));
  for (let batches = 0; batches < 50 && !raw.isOver; batches++) {
    raw.write(batch);
    await turn();
  }

  assert.equal(router.peer.only().body, 'a');
  await assertUnharmed(context, router, before);
});

test('S11: a 401 ends the HTTP/2 connection, so that guessing takes a handshake each time', async (context) => {
  const router = await startRouterUnderTest(context);
  const raw = await rawHttp2(context, router.port, 'otherFrontProxy');
  raw.request(1, lines);

  assert.equal((await raw.outcome(1)).status, 401);
  await eventually(() => raw.isOver);
  assert.deepEqual(router.allRequests(), []);
});
