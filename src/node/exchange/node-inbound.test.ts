import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { Hono } from 'hono';
import { eventually } from '../../../test/support/eventually.ts';
import { askHttp1, askHttp2, http2Client } from '../../../test/support/node-clients.ts';
import { routerPair } from '../../../test/support/node-exchange.ts';
import { serverOf } from '../../../test/support/responses-by-hand.ts';
import { collectGarbage, inMegabytes, oldSpace } from '../../../test/support/security/memory.ts';
import { type RequestObserver, RequestRecord } from '../../request/request-record.ts';
import type { HandlerEnvironment } from '../../request/router.ts';
import { createRouterServer } from '../serving/server.ts';
import { ExchangeEnd, nodeInbound, RequestDeadlines } from './node-inbound.ts';

test('the end of an exchange is told to everyone, in order, and once', () => {
  const told: string[] = [];
  const end = new ExchangeEnd();
  end.add(() => told.push('first'));
  end.add(() => told.push('second'));
  end.reached();
  end.reached();
  assert.deepEqual(told, ['first', 'second']);
});

/** Deadlines on a clock that is moved by hand. */
function startDeadlines(context: TestContext, timeout: number, onExpired?: (requests: number) => void) {
  const clock = { now: 0 };
  const deadlines = new RequestDeadlines({
    timeout,
    clock: () => clock.now,
    ...(onExpired === undefined ? {} : { onExpired }),
  });
  context.after(() => deadlines.stop());
  return { clock, deadlines };
}

test('a request is ended once at its deadline: never early, at most two checks late', (context) => {
  fc.assert(
    fc.property(fc.nat({ max: 100_000 }), fc.integer({ min: 1, max: 120_000 }), (start, timeout) => {
      const { clock, deadlines } = startDeadlines(context, timeout);
      clock.now = start;
      const ends: number[] = [];
      deadlines.add({ expire: () => ends.push(clock.now) });
      for (; clock.now < start + timeout + 5_000; clock.now += 333) deadlines.check();
      const [end] = ends;
      assert.equal(ends.length, 1);
      assert.ok(end !== undefined && end >= start + timeout && end <= start + timeout + 2_333, `${end}`);
      deadlines.stop();
    }),
    { numRuns: 50 },
  );
});

test('a request that has ended by itself is left alone', (context) => {
  const { clock, deadlines } = startDeadlines(context, 1_000);
  const request = { expire: () => assert.fail('it was over') };
  deadlines.add(request)();
  clock.now = 10_000;
  deadlines.check();
  assert.equal(deadlines.expired, 0);
});

test('a request that reuses the place of another is not ended or removed for it', (context) => {
  const { clock, deadlines } = startDeadlines(context, 1_000);
  const first = { expire: () => assert.fail('it was over') };
  const firstIsOver = deadlines.add(first);
  firstIsOver();
  clock.now = 5_000;
  const ended: string[] = [];
  deadlines.add({ expire: () => ended.push('second') });
  deadlines.check();
  // Told twice that it is over, as a request may be that has both failed and closed.
  firstIsOver();
  clock.now = 10_000;
  deadlines.check();
  deadlines.check();
  assert.deepEqual(ended, ['second']);
});

test('a request may end while others are being ended, and each is ended once', (context) => {
  const { clock, deadlines } = startDeadlines(context, 1_000);
  const ended: number[] = [];
  const requests = [0, 1, 2, 3].map((number) => ({
    expire() {
      ended.push(number);
      for (const isOver of allOver) isOver();
      // One that takes its place at once has all of its time.
      deadlines.add({ expire: () => ended.push(10 + number) });
    },
  }));
  const allOver = requests.map((request) => deadlines.add(request));
  clock.now = 10_000;
  deadlines.check();
  assert.deepEqual(ended, [0, 1, 2, 3]);
  clock.now = 20_000;
  deadlines.check();
  assert.deepEqual(
    ended.toSorted((one, other) => one - other),
    [0, 1, 2, 3, 10, 11, 12, 13],
  );
});

test('after a pause of the process only overdue requests are ended', (context) => {
  const told: number[] = [];
  const { clock, deadlines } = startDeadlines(context, 60_000, (requests) => told.push(requests));
  const ended: string[] = [];
  deadlines.add({ expire: () => ended.push('before') });
  clock.now = 3_600_000;
  // It comes before the timer has had its turn.
  deadlines.add({ expire: () => ended.push('after') });
  deadlines.check();
  assert.deepEqual(ended, ['before']);
  clock.now += 62_000;
  deadlines.check();
  assert.deepEqual(ended, ['before', 'after']);
  assert.deepEqual(told, [1, 1]);
  assert.equal(deadlines.expired, 2);
});

test('an error while ending a request is reported, and the others are still ended', (context) => {
  const failures: unknown[] = [];
  const clock = { now: 0 };
  const onFailed = (error: unknown) => failures.push(error);
  const deadlines = new RequestDeadlines({ timeout: 1_000, clock: () => clock.now, onFailed });
  context.after(() => deadlines.stop());
  const failure = new Error('the stream is gone');
  let ended = 0;
  deadlines.add({
    expire() {
      throw failure;
    },
  });
  deadlines.add({ expire: () => ended++ });
  clock.now = 10_000;
  deadlines.check();
  assert.deepEqual(failures, [failure]);
  assert.equal(ended, 1);
  assert.equal(deadlines.expired, 2);
});

// As the entries of a `Set` do: 5.6 MiB of these 10.
test('requests that are over keep none that came after them alive until all of the heap is collected', (context) => {
  const { deadlines } = startDeadlines(context, 60_000);
  const inFlight: (() => void)[] = [];
  const oneMore = (): void => {
    const request = { expire: () => {}, bytes: Array.from({ length: 128 }, () => 0) };
    inFlight.push(deadlines.add(request));
    if (inFlight.length > 64) inFlight.shift()?.();
  };
  for (let count = 0; count < 200; count++) oneMore();
  collectGarbage();
  const before = oldSpace();
  for (let count = 0; count < 10_000; count++) oneMore();
  const grown = oldSpace() - before;
  assert.ok(grown < 1024 * 1024, `${inMegabytes(grown)} became old`);
});

/** Responses with the target as the adapter gives it. */
function appOfTargets(): Hono<HandlerEnvironment> {
  return new Hono<HandlerEnvironment>().all('*', ({ req, env, text }) =>
    text(nodeInbound(req.raw, env).target),
  );
}

test('in a Hono app the adapter gives the target as it stood on the wire', async (context) => {
  const server = createRouterServer({
    fetch: appOfTargets().fetch,
    tls: { cert: routerPair.chain, key: routerPair.privateKey },
    clientCertificateOf: () => ({}),
  });
  const { port } = await server.listen(0, '127.0.0.1');
  context.after(() => server.close(0));
  const path = '/a/../b/%2e%2e/c';
  assert.equal((await askHttp1(port, { path })).body.toString(), path);
  assert.equal((await askHttp2(http2Client(context, port), { path })).body.toString(), path);
});

test('without a server it gives what the web Request still has', async () => {
  const response = await appOfTargets().request('https://router/a/../b?x=1');
  assert.equal(await response.text(), '/b?x=1');
});

test('the connection is told apart by its client certificate, as the given reader sees it', async (context) => {
  const seen: (string | undefined)[] = [];
  const server = createRouterServer({
    fetch: (_request, { inbound }) => {
      const { clientCertificate, clientCertificateError, remoteAddress } = inbound.connection;
      seen.push(clientCertificate?.commonName, clientCertificateError, remoteAddress);
      return new Response();
    },
    tls: { cert: routerPair.chain, key: routerPair.privateKey },
    clientCertificateOf: () => ({
      clientCertificate: { commonName: 'alice', organizations: [], authority: 'client-ca' },
    }),
  });
  const { port } = await server.listen(0, '127.0.0.1');
  context.after(() => server.close(0));
  const session = http2Client(context, port);
  await once(session, 'connect');
  await askHttp2(session);
  await askHttp1(port);
  assert.deepEqual(seen, ['alice', undefined, '127.0.0.1', 'alice', undefined, '127.0.0.1']);
});

for (const { protocol, method, status } of [
  { protocol: 'HTTP/1.1', method: 'GET', status: 503 },
  { protocol: 'HTTP/1.1', method: 'HEAD', status: 503 },
  { protocol: 'HTTP/1.1', method: 'DELETE', status: 504 },
  { protocol: 'HTTP/2', method: 'GET', status: 503 },
  { protocol: 'HTTP/2', method: 'HEAD', status: 503 },
  { protocol: 'HTTP/2', method: 'DELETE', status: 504 },
]) {
  test(`a ${method} by ${protocol} whose time is over gets a ${status}, and observers are told of it`, async (context) => {
    let now = 0;
    const deadlines = new RequestDeadlines({ timeout: 5_000, clock: () => now });
    context.after(() => deadlines.stop());
    const { port, handled } = await serverOf(context, { deadlines });
    const asking =
      protocol === 'HTTP/2' ? askHttp2(http2Client(context, port), { method }) : askHttp1(port, { method });
    await eventually(() => handled.length === 1);
    const [{ inbound } = assert.fail()] = handled;
    const told: unknown[] = [];
    const observer: RequestObserver = {
      responded: (record) => told.push(record.dropped, record.status),
      finished: () => told.push('finished'),
    };
    inbound.record = new RequestRecord(inbound, [observer], () => now);
    inbound.limitDuration();
    now = 10_000;
    deadlines.check();
    const response = await asking;
    assert.equal(response.status, status);
    const content = method === 'HEAD' ? '' : `"code":${status}}\n`;
    assert.ok(response.body.toString().endsWith(content), response.body.toString());
    await eventually(() => told.length === 3);
    assert.deepEqual(told, ['RequestTimeout', status, 'finished']);
  });
}
