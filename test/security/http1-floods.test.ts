import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldBlock } from '../../packages/http2/test/hpack.ts';
import { createRouterServer } from '../../src/node/serving/server.ts';
import { ask } from '../support/clients/ask.ts';
import { rawHttp1, sendAndReadToEnd } from '../support/clients/raw-http1.ts';
import { frame, frameFlag, frameType, rawHttp2 } from '../support/clients/raw-http2.ts';
import { eventually } from '../support/eventually.ts';
import { startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';
import { servingPair } from '../support/security/certificates.ts';
import { heldMemory, inMegabytes } from '../support/security/memory.ts';

const head = `GET ${targets.peer} HTTP/1.1\r\nHost: localhost\r\n`;

for (const [what, client, lines] of [
  ['more than 1 MiB of header', 'nobody', `X-Test: ${'a'.repeat(1024 * 1024)}\r\n`],
  [
    'more lines than are taken, the Host among the first',
    'frontProxy',
    'X-Remote-Group: a\r\n'.repeat(5_000),
  ],
] as const) {
  test(`S11: ${what} is refused with a Status, and never cut to size`, async (context) => {
    const router = await startRouterUnderTest(context);
    const { received, statuses } = await sendAndReadToEnd(
      context,
      router.port,
      `${head}${lines}\r\n`,
      client,
    );

    assert.deepEqual(statuses, [431]);
    assert.match(received, /"kind":"Status".*the header of the request is too large/);
    assert.deepEqual(router.allRequests(), []);
  });
}

test('S11: a refused certificate ends the HTTP/1.1 connection as well, which a client would keep with it for hours', async (context) => {
  const router = await startRouterUnderTest(context);
  const raw = await rawHttp1(context, router.port, 'otherFrontProxy');
  raw.write(`${head}\r\n`);
  await raw.untilEnd();
  assert.deepEqual(raw.statuses, [401]);
  assert.deepEqual(router.allRequests(), []);
});

test('S11: requests sent ahead on one connection are under way one at a time', async (context) => {
  const router = await startRouterUnderTest(context);
  router.peer.answer = () => {};
  const raw = await rawHttp1(context, router.port);
  raw.write(`${head}\r\n`.repeat(50));
  await router.peer.first();
  // Answered, each lets the next one go.
  router.peer.answer = (outgoing) => outgoing.end('done');
  assert.equal(router.peer.requests.length, 1);
  raw.socket.destroy();
  await eventually(() => router.peer.requests[0]?.aborted === true);
  assert.equal(router.peer.requests.length, 1, 'nothing is carried out for a client that is gone');
});

test('S11: a connection with too many requests sent ahead is ended', async (context) => {
  const router = await startRouterUnderTest(context);
  router.peer.answer = () => {};
  const before = heldMemory();
  const raw = await sendAndReadToEnd(context, router.port, `${head}\r\n`.repeat(20_000));

  assert.equal(raw.received, '');
  await eventually(() => router.peer.requests.every(({ aborted }) => aborted));
  assert.ok(router.peer.requests.length <= 1);
  const growth = heldMemory() - before;
  context.diagnostic(`memory after the flood: ${inMegabytes(growth)} more`);
  assert.ok(growth < 32 * 1024 * 1024);
});

test('S20: a push that goes on after its refusal is cut off, and the router lives', async (context) => {
  const router = await startRouterUnderTest(context);
  const raw = await rawHttp1(context, router.port, 'admin');
  raw.write(
    'PUT /.mixed-version-proxy/v1/snapshot HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n',
  );
  const chunk = 'a'.repeat(1024 * 1024);
  for (let sent = 0; sent < 32 && raw.statuses.length === 0; sent++) {
    raw.write(chunk);
    await eventually(() => !raw.socket.writableNeedDrain || raw.ended);
  }
  await raw.until(() => raw.statuses.length === 1);
  // By its beginning: nobody has signed that.
  assert.deepEqual(raw.statuses, [401]);
  await raw.untilEnd();
  assert.equal((await ask(router.port, { path: targets.peer })).status, 200);
});

const impatient = { keepAliveTimeout: 50, headersTimeout: 50, connectionsCheckingInterval: 10 };

test('S11: slow headers (Slowloris) and silence end the connection', async (context) => {
  let requests = 0;
  const server = createRouterServer({
    fetch: () => {
      requests++;
      return new Response('got through');
    },
    tls: { cert: servingPair.chain, key: servingPair.privateKey },
    clientCertificateOf: () => ({}),
    limits: impatient,
  });
  const { port } = await server.listen(0, '127.0.0.1');
  context.after(() => server.close(0));

  for (const bytes of ['', 'GET / HT', `${head}X-Slow: a`]) {
    await context.test(JSON.stringify(bytes.slice(-12)), async (context) => {
      const { statuses } = await sendAndReadToEnd(context, port, bytes);
      assert.ok(!statuses.includes(200));
    });
  }
  await context.test('HEADERS that never end', async (context) => {
    const raw = await rawHttp2(context, port);
    const block = fieldBlock([':method', 'GET', ':scheme', 'https', ':path', '/']);
    raw.write(frame(frameType.headers, frameFlag.endStream, 1, block));
    await eventually(() => raw.ended);
  });
  assert.equal(requests, 0);
});
