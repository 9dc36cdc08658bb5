import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { rawHttp1 } from '../support/clients/raw-http1.ts';
import { eventually } from '../support/eventually.ts';
import { type RouterUnderTest, startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';

function upgradeOf(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`;
}

const watch = upgradeOf(`${targets.peer}?watch=true`);
const answerHead = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const event = '11\r\n{"type":"ADDED"}\n\r\n';

/** Answers each upgrade as an ordinary request, without an end. @returns the connections that are open. */
function declineWithoutEnd(
  context: TestContext,
  { peer }: RouterUnderTest,
  goOn: (socket: Duplex) => void = () => {},
): Set<Duplex> {
  const open = new Set<Duplex>();
  peer.answerUpgrade = (socket) => {
    open.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => open.delete(socket));
    socket.resume();
    socket.write(answerHead + event);
    goOn(socket);
  };
  context.after(() => {
    for (const socket of open) socket.destroy();
  });
  return open;
}

/** Writes events for as long as the connection is there. */
function everyMoment(socket: Duplex): void {
  const timer = setInterval(() => socket.write(event), 10);
  socket.once('close', () => clearInterval(timer));
}

/** Writes as much as the connection takes. */
function flood(socket: Duplex): void {
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
  const writeOn = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', writeOn);
  writeOn();
}

for (const [what, goOn] of Object.entries({ 'goes on': everyMoment, 'is silent': () => {} })) {
  test(`declined upgrades whose answer ${what}: no connection to the server outlives its client`, async (context) => {
    const router = await startRouterUnderTest(context);
    const open = declineWithoutEnd(context, router, goOn);
    const clients = await Promise.all(
      ['', '', 'smuggled'].map(async (more) => {
        const raw = await rawHttp1(context, router.port, 'nobody');
        raw.write(watch + more);
        await raw.until((received) => received.includes('ADDED'));
        raw.write(more);
        return raw;
      }),
    );
    assert.equal(open.size, clients.length);
    for (const { socket } of clients) socket.destroy();
    await eventually(() => open.size === 0);
  });
}

test('a client that leaves without having read its declined upgrade takes the connection to the server along', async (context) => {
  const router = await startRouterUnderTest(context);
  const open = declineWithoutEnd(context, router, flood);
  const { socket } = await rawHttp1(context, router.port, 'nobody');
  socket.pause();
  socket.write(watch);
  await eventually(() => open.size === 1 && [...open].every((peer) => peer.writableNeedDrain));
  socket.destroy();
  await eventually(() => open.size === 0);
});

test('a client that leaves before the head of the answer takes the connection to the server along', async (context) => {
  const router = await startRouterUnderTest(context);
  const open = new Set<Duplex>();
  router.peer.answerUpgrade = (socket) => {
    open.add(socket);
    socket.resume();
    socket.once('close', () => open.delete(socket));
  };
  const { socket } = await rawHttp1(context, router.port, 'nobody');
  socket.write(watch);
  await eventually(() => open.size === 1);
  socket.destroy();
  await eventually(() => open.size === 0);
});

test('a declined upgrade of a request that is not long-running ends at --request-timeout', async (context) => {
  const router = await startRouterUnderTest(context, { flags: { 'request-timeout': ['1s'] } });
  const open = declineWithoutEnd(context, router, everyMoment);
  const list = await rawHttp1(context, router.port, 'nobody');
  const watching = await rawHttp1(context, router.port, 'nobody');
  watching.write(watch);
  list.write(upgradeOf(targets.peer));
  await list.untilEnd();
  assert.deepEqual(list.statuses, [200]);
  // The long-running request goes on.
  await eventually(() => open.size === 1);
  assert.equal(watching.ended, false);
});

test('a shutdown ends declined upgrades within the grace period of watches', async (context) => {
  const router = await startRouterUnderTest(context, {
    flags: { 'shutdown-watch-termination-grace-period': ['200ms'] },
  });
  const open = declineWithoutEnd(context, router, everyMoment);
  const raw = await rawHttp1(context, router.port, 'nobody');
  raw.write(watch);
  await raw.until((received) => received.includes('ADDED'));
  await router.running.shutdown();
  await eventually(() => raw.ended && open.size === 0);
});
