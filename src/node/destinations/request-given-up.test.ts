import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import { Http2Pool } from '../../../packages/http2/index.ts';
import { peerName, servingAuthority, startPeer } from '../../../test/support/api-servers/node-exchange.ts';
import type { TransportError } from '../../request/destination.ts';
import { Deadlines } from '../exchange/deadlines.ts';
import { BodySource, BodyStream } from '../exchange/request-body.ts';
import { WebResponseSink } from '../exchange/response-sink.ts';
import { Exchange } from './exchange.ts';

/** To a server that responds with the request's body. @param mayDial the connection is opened once this resolves */
async function poolTo(context: TestContext, mayDial: Promise<void>): Promise<Http2Pool> {
  const { port } = await startPeer(context, 'h2', async (incoming, outgoing) => {
    outgoing.end(await text(incoming));
  });
  const pool = new Http2Pool(`https://127.0.0.1:${port}`, {
    connect: async (onread) => {
      await mayDial;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const options = { servername: peerName, ca: servingAuthority.certificate, ALPNProtocols: ['h2'] };
      // Node's types leave it out of the options of node:tls.
      const socket = connect({ port, host: '127.0.0.1', ...options, ...{ onread } }, resolve);
      socket.once('error', reject);
      await promise;
      return socket;
    },
  });
  context.after(() => pool.destroy());
  return pool;
}

function exchangeOn(pool: Http2Pool, body: BodySource, signal: AbortSignal) {
  const options = { origin: 'https://cp-a', sink: new WebResponseSink(signal), body, deadlines: undefined };
  const exchange = new Exchange(options, ({ headers }) => ({ kind: 'forward', headers }));
  const content = new BodyStream(body, () => {});
  pool.submit({ method: 'GET', target: '/', headers: ['content-length', '4'], content }, exchange);
  return exchange.result;
}

test('a request that is given up while it waits for a connection leaves its body to the next try', async (context) => {
  const dialled = Promise.withResolvers<void>();
  const [slow, quick] = await Promise.all([
    poolTo(context, dialled.promise),
    poolTo(context, Promise.resolve()),
  ]);
  const incoming = Readable.from([Buffer.from('body')], { objectMode: false });
  incoming.read(0);
  await once(incoming, 'readable');
  const body = new BodySource(
    () => incoming,
    () => false,
    4,
  );
  const client = new AbortController();
  const first = exchangeOn(slow, body, client.signal);
  client.abort();
  await assert.rejects(first);
  // The request behind is sent once the connection is there: the one that was given up has had its turn then.
  const behind = slow.request({ origin: 'https://cp-a', path: '/', method: 'POST', body: 'behind' });
  dialled.resolve();
  assert.equal(await (await behind).body.text(), 'behind');
  assert.equal(body.opened, false);
  const second = await exchangeOn(quick, body, new AbortController().signal);
  assert.ok(second.kind === 'response');
  assert.equal(await second.response.text(), 'body');
});

test('a request that would go elsewhere by the time its connection is there is not sent', async (context) => {
  let now = 0;
  context.mock.method(performance, 'now', () => now);
  for (const [waits, isSent] of [
    [0, true],
    [10_000, false],
  ] as const) {
    const dialled = Promise.withResolvers<void>();
    const pool = await poolTo(context, dialled.promise);
    const sink = new WebResponseSink(new AbortController().signal);
    const options = { origin: 'https://cp-a', sink, stillHolds: () => false };
    const exchange = new Exchange(options, ({ headers }) => ({ kind: 'forward', headers }));
    exchange.submitTo(pool, { method: 'GET', target: '/', headers: [], content: undefined });
    now += waits;
    dialled.resolve();
    if (isSent) assert.equal((await exchange.result).kind, 'response');
    else await assert.rejects(exchange.result, { code: 'DecisionOutdated', mayHaveBeenProcessed: false });
  }
});

test('a server that stays silent is looked at again and again, until another one can be asked', async (context) => {
  let now = 0;
  const deadlines = new Deadlines({ timeout: 1_000, clock: () => now });
  context.after(() => deadlines.stop());
  const others = [false, false, true];
  const options = {
    origin: 'https://cp-a',
    sink: new WebResponseSink(new AbortController().signal),
    deadlines,
    givesUp: () => others.shift() ?? assert.fail('asked too often'),
  };
  const { result } = new Exchange(options, ({ headers }) => ({ kind: 'forward', headers }));
  const failed = assert.rejects(result, { code: 'Timeout' });
  for (let time = 0; time < 3; time++) {
    now += 2_000;
    deadlines.check();
  }
  assert.deepEqual(others, []);
  await failed;
});

test('a response that comes after that of a time-out is nobody’s, and no invalid one of its server', async () => {
  const sink = Object.assign(new WebResponseSink(new AbortController().signal), { hasBegun: true });
  let isJudged = false;
  const exchange = new Exchange({ origin: 'https://cp-a', sink }, ({ headers }) => {
    isJudged = true;
    return { kind: 'forward', headers };
  });
  const aborted: Error[] = [];
  exchange.begun({ pause() {}, resume() {}, abort: (reason) => void aborted.push(reason) });
  exchange.head(200, []);
  const { code } = (await exchange.result.catch((error: TransportError) => error)) as TransportError;
  assert.equal(code, 'ClientGone');
  assert.equal(aborted.length, 1, 'its server need not go on');
  assert.equal(isJudged, false);
});
