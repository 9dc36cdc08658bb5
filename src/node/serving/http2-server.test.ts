import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { MemoryBudget } from '../../../packages/http2/index.ts';
import { settingsFrame } from '../../../test/support/api-servers/raw-http2-peer.ts';
import { rawClient } from '../../../test/support/clients/node-clients.ts';
import { frame, frameFlag, frameType, RawHttp2, uint32 } from '../../../test/support/clients/raw-http2.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { startServer } from '../../../test/support/routers/node-server.ts';
import type { NodeBindings } from '../exchange/node-inbound.ts';
import type { RouterServerOptions } from './server.ts';

const lines = (method: string, ...more: readonly string[]) => [
  ...[':method', method, ':scheme', 'https', ':authority', 'localhost', ':path', '/'],
  ...more,
];

/** A server of the router's, and a client of it that writes frames. @param settings of the client */
async function startWithFrames(
  context: TestContext,
  fetch: RouterServerOptions['fetch'],
  { settings = settingsFrame(), ...options }: Partial<RouterServerOptions> & { settings?: Buffer } = {},
): Promise<RawHttp2> {
  const { port } = await startServer(context, fetch, options);
  const client = new RawHttp2(await rawClient(context, port, 'h2'));
  client.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings);
  return client;
}

test('a request over HTTP/2 that got a time-out response gets no second one, even while the first waits', async (context) => {
  const late = Promise.withResolvers<void>();
  const fetch = async (_request: Request, { inbound }: NodeBindings): Promise<Response> => {
    const sink = inbound.responseSink();
    inbound.expire();
    await late.promise;
    assert.throws(() => sink.respond(200, ['content-type', 'text/plain']), TypeError);
    return new Response('late');
  };
  // Without a window for content.
  const client = await startWithFrames(context, fetch, { settings: settingsFrame(4, 0) });
  client.request(1, lines('GET'));
  await eventually(() => client.of(frameType.headers, 1).length === 1);
  late.resolve();
  await client.settled();
  client.widen(1, 10_000);
  const { status, body } = await client.outcome(1);
  assert.equal(status, 503);
  assert.match(body, /^\{"kind":"Status".*"reason":"Timeout".*\}\n?$/s);
  assert.equal(client.of(frameType.headers, 1).length, 1);
});

describe('the body of an upload over HTTP/2 that breaks off', () => {
  const outcomeOf = (inbound: NodeBindings['inbound']): Promise<string> =>
    new Response(inbound.body()).text().catch(() => 'it failed');

  test('does not pass for whole', async (context) => {
    const outcome = Promise.withResolvers<string>();
    const client = await startWithFrames(context, async (_request, { inbound }) => {
      outcome.resolve(await outcomeOf(inbound));
      return new Response();
    });
    client.request(1, lines('POST'), { endStream: false });
    client.data(1, 'half');
    await client.settled();
    client.write(frame(frameType.rstStream, frameFlag.none, 1, uint32(0)));
    assert.equal(await outcome.promise, 'it failed');
  });

  for (const [came, content] of [
    ['nothing', undefined],
    ['a part', 'half'],
  ] as const) {
    test(`fails for a reader that comes after ${came} of it and its end`, async (context) => {
      const isOver = Promise.withResolvers<void>();
      const outcome = Promise.withResolvers<string>();
      const client = await startWithFrames(context, async (_request, { inbound }) => {
        inbound.onFinished(isOver.resolve);
        await isOver.promise;
        outcome.resolve(await outcomeOf(inbound));
        return new Response();
      });
      client.request(1, lines('POST', 'content-length', '9'), { endStream: false });
      if (content !== undefined) client.data(1, content);
      client.write(frame(frameType.rstStream, frameFlag.none, 1, uint32(0x8)));
      assert.equal(await outcome.promise, 'it failed');
    });
  }
});

test('of the head of a request over HTTP/2 only what is still needed is kept once its response has begun', async (context) => {
  let inbound: NodeBindings['inbound'] | undefined;
  const client = await startWithFrames(context, (_request, bindings) => {
    inbound = bindings.inbound;
    return new Response('begun');
  });
  client.request(1, lines('GET', 'x-large', 'a'.repeat(10_000), 'user-agent', 'kubectl'));
  await client.outcome(1);
  assert.deepEqual(inbound?.headers, ['user-agent', 'kubectl']);
});

test('a head over HTTP/2 that is too large gets a Status', async (context) => {
  const client = await startWithFrames(context, () => new Response());
  client.request(1, lines('GET', ...Array.from({ length: 2_500 }, () => ['x', '']).flat()));
  const { status, body } = await client.outcome(1);
  assert.equal(status, 431);
  assert.match(body, /"reason":"RequestHeaderFieldsTooLarge"/);
});

test('requests for which there is no memory are told of in the log once in a while', async (context) => {
  const { logger, lines: logged } = recordingLogger();
  const reliefs: string[] = [];
  const client = await startWithFrames(context, () => new Response(), {
    ...{ memory: new MemoryBudget(100_000), logger },
    onRelief: (relief) => reliefs.push(relief),
  });
  for (const stream of [1, 3]) {
    client.request(stream, lines('GET', 'x-large', 'a'.repeat(10_000)));
    // REFUSED_STREAM: the client may send it again.
    assert.equal(await client.resetCode(stream), 0x7);
  }
  assert.deepEqual(reliefs, ['refused', 'refused']);
  assert.deepEqual(
    logged.map(({ level, message }) => [level, message.slice(0, 23)]),
    [['warn', 'Too much memory is held']],
  );
});
