import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { rawHttp1, sendAndReadToEnd } from '../support/clients/raw-http1.ts';
import { frame, frameFlag, frameType, rawHttp2 } from '../support/clients/raw-http2.ts';
import { eventually } from '../support/eventually.ts';
import { type RouterUnderTest, startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';
import { smuggled } from '../support/security/smuggling-vectors.ts';

const ways = { local: `${targets.local}/a/exec`, peer: `${targets.peer}/a/attach` } as const;

function upgradeTo(
  path: string,
  lines: readonly string[] = ['Connection: Upgrade', 'Upgrade: SPDY/3.1'],
): string {
  return `POST ${path} HTTP/1.1\r\n${['Host: localhost', ...lines, 'Content-Length: 0'].join('\r\n')}\r\n\r\n`;
}

/** Answers the upgrade with `answer`, keeps the connection open, and writes down what comes on it afterwards. */
function answerUpgradesWith(
  router: RouterUnderTest,
  answer: string,
): { readonly sockets: Duplex[]; heard: string } {
  const after = { sockets: [] as Duplex[], heard: '' };
  for (const backend of [router.local, router.peer]) {
    backend.answerUpgrade = (socket) => {
      after.sockets.push(socket);
      socket.on('data', (chunk: Buffer) => {
        after.heard += chunk.toString('latin1');
      });
      socket.write(answer);
    };
  }
  return after;
}

/** 101 heads that name something else than the protocol that was asked for (RFC 9110 section 7.8). */
const otherProtocols = {
  h2c: ['Upgrade: h2c'],
  'the other protocol that the client could have asked for': ['Upgrade: websocket'],
  'another version': ['Upgrade: SPDY/3'],
  'a list that begins with what was asked for': ['Upgrade: SPDY/3.1, h2c'],
  'a list that ends with it': ['Upgrade: h2c, SPDY/3.1'],
  'two lines': ['Upgrade: SPDY/3.1', 'Upgrade: h2c'],
  'nothing but a comma': ['Upgrade: ,'],
} as const;

const declines = {
  '200 with a body': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
  '200 that goes on for ever': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n',
  '403': 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n',
  '400 that keeps the connection (CVE-2018-1002105)':
    'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n',
  '500 behind a 103':
    'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n',
  '101 without Upgrade': 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n',
  'an answer that is no HTTP': 'SSH-2.0-OpenSSH\r\n\r\n',
};

for (const [way, path] of Object.entries(ways)) {
  for (const [what, answer] of Object.entries(declines)) {
    test(`S1: an upgrade to ${way} that is answered with ${what} is no tunnel: nothing of the client’s gets through`, async (context) => {
      const router = await startRouterUnderTest(context);
      const destination = answerUpgradesWith(router, answer);
      const raw = await rawHttp1(context, router.port, 'alice');
      // Both what came with the request and what comes after the answer.
      raw.write(upgradeTo(path) + smuggled);
      await raw.until((received) => received.includes('\r\n\r\n'));
      raw.write(smuggled);

      const goesOn = what.includes('for ever');
      if (goesOn) {
        await raw.until((received) => received.includes('ok'));
        destination.sockets[0]?.end('0\r\n\r\n');
      }
      await raw.untilEnd();
      assert.ok(!raw.statuses.includes(101), raw.received);
      assert.equal(raw.statuses.filter((status) => status >= 200).length, 1);
      // The connection to the destination ends with it, so that it cannot be used for anything else.
      await eventually(() => destination.sockets.every((socket) => socket.destroyed || socket.readableEnded));
      assert.equal(destination.heard, '');
      assert.equal(router.allRequests().length, 1);
    });
  }

  for (const [what, lines] of Object.entries(otherProtocols)) {
    test(`attack: a server that switches an upgrade to ${way} to ${what} gets none of the client’s bytes: 502, and both connections end`, async (context) => {
      const router = await startRouterUnderTest(context);
      const head = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', ...lines].join('\r\n');
      const destination = answerUpgradesWith(router, `${head}\r\n\r\n`);
      const raw = await rawHttp1(context, router.port, 'alice');
      raw.write(upgradeTo(path) + smuggled);
      await raw.until((received) => received.includes('\r\n\r\n'));
      raw.write(smuggled);

      await raw.untilEnd();
      assert.deepEqual(raw.statuses, [502], raw.received);
      assert.match(raw.received, /"reason":"BadGateway"/);
      await eventually(() => destination.sockets.every((socket) => socket.destroyed || socket.readableEnded));
      assert.equal(destination.heard, '');
      assert.equal(router.allRequests().length, 1);
    });
  }

  test(`S3: a redirect of an upgrade to ${way} is neither followed nor passed on (CVE-2020-8559)`, async (context) => {
    const router = await startRouterUnderTest(context);
    const evil = `https://127.0.0.1:${router.stranger.port}/evil`;
    for (const status of [301, 302, 303, 307, 308]) {
      const destination = answerUpgradesWith(
        router,
        `HTTP/1.1 ${status} Elsewhere\r\nLocation: ${evil}\r\nContent-Length: 0\r\n\r\n`,
      );
      const { received, statuses } = await sendAndReadToEnd(
        context,
        router.port,
        upgradeTo(path) + smuggled,
        'alice',
      );

      assert.deepEqual(statuses, [503]);
      assert.ok(!/location|evil/i.test(received), received);
      assert.equal(destination.heard, '');
    }
    assert.deepEqual(router.stranger.requests, []);
  });
}

test('an upgrade that is declined with content coded as gzip, chunked is a 502: the content is not passed on without its coding', async (context) => {
  const router = await startRouterUnderTest(context);
  answerUpgradesWith(
    router,
    'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
  );
  const { statuses } = await sendAndReadToEnd(context, router.port, upgradeTo(ways.peer), 'alice');
  assert.deepEqual(statuses, [502]);
});

/** All of these have both `Connection: Upgrade` and something that must not be upgraded to. */
const tokens = {
  h2c: ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'],
  'a list': ['Connection: Upgrade', 'Upgrade: websocket, h2c'],
  'two lines': ['Connection: Upgrade', 'Upgrade: websocket', 'Upgrade: h2c'],
  'something unknown': ['Connection: Upgrade', 'Upgrade: root-shell/1.0'],
  'a prefix of a known one': ['Connection: Upgrade', 'Upgrade: SPDY/3'],
  TLS: ['Connection: Upgrade', 'Upgrade: TLS/1.0'],
};

for (const [what, lines] of Object.entries(tokens)) {
  test(`S2: an offer of ${what} is ignored, and not passed on (RFC 9110 section 7.8, kubernetes#72112)`, async (context) => {
    const router = await startRouterUnderTest(context);
    const raw = await rawHttp1(context, router.port, 'alice');
    const offering = [...lines, 'Connection: X-Nominated', 'X-Nominated: 1', 'X-Remote-User: root'];
    raw.write(
      `POST ${targets.peer} HTTP/1.1\r\nHost: localhost\r\n${offering.join('\r\n')}\r\nContent-Length: 5\r\n\r\nhello`,
    );
    await raw.until((received) => received.includes('\r\n\r\n'));
    assert.deepEqual(raw.statuses, [200], raw.received);
    const { headers, body } = router.peer.only();
    assert.equal(body, 'hello');
    for (const name of ['upgrade', 'http2-settings', 'x-nominated']) {
      assert.deepEqual(allHeaders(headers, name), [], name);
    }
    assert.ok(!allHeaders(headers, 'connection').some((value) => /upgrade/i.test(value)));
    assert.deepEqual(allHeaders(headers, 'x-remote-user'), ['alice']);
    // The connection goes on.
    raw.write(`GET ${targets.peer} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await raw.until(() => raw.statuses.length === 2);
  });
}

test('S2: a server may name the protocol in its own spelling, in a list with empty elements', async (context) => {
  const router = await startRouterUnderTest(context);
  for (const line of ['spdy/3.1', ' SPDY/3.1 ', ', SPDY/3.1,']) {
    router.peer.answerUpgrade = (socket) =>
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${line}\r\n\r\nhello`,
      );
    const raw = await rawHttp1(context, router.port, 'alice');
    raw.write(upgradeTo(ways.peer));
    await raw.until((received) => received.endsWith('hello'));
    assert.deepEqual(raw.statuses, [101]);
  }
});

test('S2: HTTP/1.0 and a lone Upgrade switch nothing', async (context) => {
  const router = await startRouterUnderTest(context);
  const old = `GET ${ways.peer} HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
  assert.deepEqual((await sendAndReadToEnd(context, router.port, old, 'alice')).statuses, [200]);
  assert.deepEqual(allHeaders(router.peer.only().headers, 'upgrade'), []);

  // Each is an ordinary request, and `Upgrade` stays behind (RFC 9110 section 7.8).
  for (const lines of ['Upgrade: websocket\r\nConnection: close', 'Connection: Upgrade, close\r\nUpgrade:']) {
    router.peer.clear();
    const lone = `GET ${ways.peer} HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n\r\n`;
    assert.deepEqual((await sendAndReadToEnd(context, router.port, lone, 'alice')).statuses, [200]);
    assert.deepEqual(allHeaders(router.peer.only().headers, 'upgrade'), []);
  }
});

test('S2: extended CONNECT (RFC 8441) opens no tunnel over HTTP/2', async (context) => {
  const router = await startRouterUnderTest(context);
  const raw = await rawHttp2(context, router.port, 'alice');
  raw.request(
    1,
    [
      ...[':method', 'CONNECT', ':protocol', 'websocket', ':scheme', 'https', ':authority', 'localhost'],
      ...[':path', ways.peer],
    ],
    { endStream: false },
  );
  raw.write(frame(frameType.data, frameFlag.none, 1, Buffer.from(smuggled)));

  assert.notEqual((await raw.outcome(1)).status, 200);
  assert.deepEqual(router.allRequests(), []);
  assert.ok(![router.local, router.peer].some(({ bytes }) => bytes.includes('smuggled')));
});

test('S1: bytes sent ahead of the answer go to the destination only once it has switched', async (context) => {
  const router = await startRouterUnderTest(context);
  const { promise: asked, resolve } = Promise.withResolvers<Duplex>();
  let heard = '';
  router.peer.answerUpgrade = (socket) => {
    socket.on('data', (chunk: Buffer) => {
      heard += chunk.toString('latin1');
    });
    resolve(socket);
  };
  const raw = await rawHttp1(context, router.port, 'alice');
  raw.write(`${upgradeTo(ways.peer)}early`);
  const socket = await asked;
  assert.equal(heard, '');
  assert.ok(!router.peer.bytes.includes('early'));
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n');
  await eventually(() => heard === 'early');
});

test('S1: an upgrade sent behind an unanswered request is not carried out', async (context) => {
  const router = await startRouterUnderTest(context);
  router.peer.answer = () => {};
  const raw = await rawHttp1(context, router.port, 'alice');
  raw.write(`GET ${targets.peer} HTTP/1.1\r\nHost: localhost\r\n\r\n${upgradeTo(ways.local)}hello`);
  await raw.untilEnd();

  assert.equal(raw.received, '');
  assert.deepEqual(router.local.requests, []);
});
