import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { eventually } from '../test/eventually.ts';
import { frame, frameFlag, frameType, type RawHttp2, uint32 } from '../test/raw-http2.ts';
import { preface, requestLines, startWithFrames } from '../test/raw-http2-client.ts';
import { settingsFrame } from '../test/raw-http2-peer.ts';
import type { Http2Bindings } from './fetch-adapter.ts';

const { none, endStream, padded } = frameFlag;
const initialWindow = 65_535;
const large = 300_000;

/** As many bytes as the path says, from a source that is read as the client takes it. */
function bytesOf(request: Request): Response {
  let left = Number(new URL(request.url).pathname.slice(1));
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const length = Math.min(left, 10_000);
      left -= length;
      if (length > 0) controller.enqueue(Buffer.alloc(length, 'x'));
      else controller.close();
    },
  });
  return new Response(body);
}

/** Waits until exactly so many bytes came on a stream, and no more do. */
async function assertReceived(client: RawHttp2, stream: number, bytes: number): Promise<void> {
  await eventually(() => client.received(stream) >= bytes);
  await client.settled();
  assert.equal(client.received(stream), bytes);
}

describe('a response is sent as the client’s windows allow', () => {
  test('on its stream: it goes on when that is widened, and ends', async (context) => {
    const { client } = await startWithFrames(context, bytesOf);
    client.widen(0, large);
    client.request(1, requestLines(`/${large}`));
    await assertReceived(client, 1, initialWindow);
    client.widen(1, 1);
    await assertReceived(client, 1, initialWindow + 1);
    client.widen(1, large);
    await eventually(() => client.hasEnded(1));
    assert.equal(client.received(1), large);
  });

  test('on the connection: all of its responses share what is granted, and none is left out', async (context) => {
    const first = [preface, settingsFrame(4, 1_000_000)];
    const { client } = await startWithFrames(context, bytesOf, { first });
    const streams = [1, 3, 5, 7];
    for (const stream of streams) client.request(stream, requestLines(`/${large}`));
    const all = (): number => streams.reduce((sum, stream) => sum + client.received(stream), 0);
    await eventually(() => all() === initialWindow);
    await client.settled();
    assert.equal(all(), initialWindow);
    for (let granted = initialWindow; granted < streams.length * large; granted += 20_000)
      client.widen(0, 20_000);
    await eventually(() => streams.every((stream) => client.hasEnded(stream)));
    assert.deepEqual(
      streams.map((stream) => client.received(stream)),
      streams.map(() => large),
    );
  });

  test('again and again, without new memory for the content that waits', async (context) => {
    const length = 10 * large;
    const { client } = await startWithFrames(context, bytesOf);
    client.widen(0, length);
    client.request(1, requestLines(`/${length}`));
    await assertReceived(client, 1, initialWindow);
    const made = context.mock.method(Buffer, 'allocUnsafeSlow');
    for (let granted = initialWindow; granted < length; granted += 61_000) {
      client.widen(1, 61_000);
      await client.settled();
    }
    await eventually(() => client.hasEnded(1));
    assert.equal(client.received(1), length);
    const blocks = made.mock.calls.filter(({ arguments: [bytes] }) => bytes >= 4_096);
    assert.ok(blocks.length < 10, `${blocks.length} blocks`);
  });

  test('a client that grants little at a time starves no response', async (context) => {
    const first = [preface, settingsFrame(4, 1_000_000)];
    const { client } = await startWithFrames(context, bytesOf, { first });
    client.request(1, requestLines(`/${large}`));
    await assertReceived(client, 1, initialWindow);
    for (const stream of [3, 5]) client.request(stream, requestLines(`/${large}`));
    await client.settled();
    for (let count = 0; count < 60; count++) {
      client.widen(0, 5_000);
      await client.settled();
    }
    for (const stream of [1, 3, 5]) assert.ok(client.received(stream) > 50_000, `${client.received(stream)}`);
  });

  test('settings change the windows of the streams that are open, below zero if need be (RFC 9113 section 6.9.2)', async (context) => {
    const { client } = await startWithFrames(context, bytesOf);
    client.widen(0, large);
    client.request(1, requestLines(`/${large}`));
    await assertReceived(client, 1, initialWindow);
    client.write(settingsFrame(4, 10_000));
    // 55,535 bytes too many have been sent: so many have to be granted before another may come.
    client.widen(1, initialWindow - 10_000);
    await assertReceived(client, 1, initialWindow);
    client.widen(1, 7);
    await assertReceived(client, 1, initialWindow + 7);
    client.write(settingsFrame(4, 10_100));
    await assertReceived(client, 1, initialWindow + 107);
    client.write(settingsFrame(4, 1_000_000));
    await eventually(() => client.hasEnded(1));
    assert.equal(client.received(1), large);
  });

  test('with a window of 0 the head is sent, and the content waits', async (context) => {
    const first = [preface, settingsFrame(4, 0)];
    const { client } = await startWithFrames(context, () => new Response('short'), { first });
    client.request(1, requestLines());
    client.request(3, requestLines());
    await eventually(() => client.of(frameType.headers).length === 2);
    await client.settled();
    assert.deepEqual(client.of(frameType.data), []);
    client.widen(3, 5);
    assert.deepEqual(await client.outcome(3), { status: 200, body: 'short' });
    client.widen(1, 5);
    assert.deepEqual(await client.outcome(1), { status: 200, body: 'short' });
  });
});

test('a client that resets a waiting stream releases the producer', async (context) => {
  let cancelled = 0;
  let produced = 0;
  const { client } = await startWithFrames(
    context,
    () =>
      new Response(
        new ReadableStream<Uint8Array>({
          pull(controller) {
            produced += 10_000;
            controller.enqueue(Buffer.alloc(10_000));
          },
          cancel() {
            cancelled++;
          },
        }),
      ),
  );
  client.request(1, requestLines());
  client.request(3, requestLines());
  await eventually(() => client.received(1) + client.received(3) === initialWindow);
  await client.settled();
  assert.ok(
    produced < initialWindow + 6 * 10_000,
    `${produced} bytes were made for a client that takes none`,
  );
  client.write(frame(frameType.rstStream, none, 1, uint32(0x8)));
  await eventually(() => cancelled === 1);
  client.socket.destroy();
  await eventually(() => cancelled === 2);
});

describe('an upload is granted as its reader reads', () => {
  test('only content that was read is granted again', async (context) => {
    const read = Promise.withResolvers<void>();
    const { client } = await startWithFrames(context, async (request) => {
      await read.promise;
      return new Response(String((await request.arrayBuffer()).byteLength));
    });
    client.request(1, requestLines('/', 'POST'), { endStream: false });
    const piece = Buffer.alloc(16_384);
    for (let count = 0; count < 4; count++) client.data(1, piece);
    await client.settled();
    const granted = (): number =>
      client.of(frameType.windowUpdate, 1).reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
    assert.equal(granted(), 0);
    read.resolve();
    await eventually(() => granted() >= 64 * 1024);
    client.data(1, 'end', endStream);
    assert.equal((await client.outcome(1)).body, String(4 * 16_384 + 3));
  });

  test('attack: more data than was granted ends the stream, and its work', async (context) => {
    let isAborted = false;
    const { client } = await startWithFrames(context, ({ signal }) => {
      signal.addEventListener('abort', () => {
        isAborted = true;
      });
      return new Promise(() => {});
    });
    client.request(1, requestLines('/', 'POST'), { endStream: false });
    const piece = Buffer.alloc(16_384);
    // 256 KiB, as many again as are handed on ahead, and one more.
    for (let count = 0; count < 33; count++) client.data(1, piece);
    assert.equal(await client.resetCode(1), 0x3);
    await eventually(() => isAborted);
  });

  test('padding is granted again at once: nobody reads it', async (context) => {
    const { client } = await startWithFrames(
      context,
      async (request) => new Response(String((await request.text()).length)),
    );
    client.request(1, requestLines('/', 'POST'), { endStream: false });
    const payload = Buffer.concat([Buffer.from([255]), Buffer.alloc(256, 'a'), Buffer.alloc(255)]);
    for (let count = 0; count < 2_000; count++) client.write(frame(frameType.data, padded, 1, payload));
    client.data(1, 'content', endStream);
    // More than the window that it took, were padding not granted again.
    assert.equal((await client.outcome(1)).body, String(2_000 * 256 + 'content'.length));
  });

  test('an upload that breaks off does not pass for whole', async (context) => {
    const outcome = Promise.withResolvers<string>();
    const fetch = async (request: Request): Promise<Response> => {
      try {
        outcome.resolve(await request.text());
      } catch (error) {
        outcome.resolve(`failed: ${error instanceof Error ? error.message : ''}`);
      }
      return new Response();
    };
    const { client } = await startWithFrames(context, fetch);
    client.request(1, requestLines('/', 'POST'), { endStream: false });
    client.data(1, 'half');
    await client.settled();
    client.write(frame(frameType.rstStream, none, 1, uint32(0)));
    assert.match(await outcome.promise, /^failed: /);
  });
});

for (const [name, content] of [
  ['nothing', undefined],
  ['a part', 'half'],
] as const) {
  test(`a late reader of an upload of which ${name} came before it broke off gets an error`, async (context) => {
    const isOver = Promise.withResolvers<void>();
    const outcome = Promise.withResolvers<string>();
    const fetch = async (request: Request, { incoming }: Http2Bindings): Promise<Response> => {
      incoming.follow({ onClosed: isOver.resolve });
      await isOver.promise;
      await new Promise((resolve) => setTimeout(resolve, 5));
      await request.text().then(outcome.resolve, () => outcome.resolve('it failed'));
      return new Response();
    };
    const { client } = await startWithFrames(context, fetch);
    client.request(1, requestLines('/', 'POST', 'content-length', '9'), { endStream: false });
    if (content !== undefined) client.data(1, content);
    client.write(frame(frameType.rstStream, none, 1, uint32(0x8)));
    assert.equal(await outcome.promise, 'it failed');
  });
}

test('attack: a client that makes the router respond and reads nothing is disconnected, and its memory freed', async (context) => {
  const { client } = await startWithFrames(context, bytesOf, {
    first: [preface, settingsFrame(4, 2 ** 31 - 1)],
  });
  client.widen(0, 2 ** 31 - 1 - initialWindow);
  client.request(1, requestLines('/1000000000'));
  await eventually(() => client.received(1) > 0);
  client.socket.pause();
  const pings = Buffer.concat(
    Array.from({ length: 500 }, () => frame(frameType.ping, none, 0, Buffer.alloc(8))),
  );
  for (let count = 0; count < 400 && !client.socket.destroyed; count++) {
    client.write(pings);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  client.socket.resume();
  await eventually(() => client.ended);
});

describe('windows that are widened', () => {
  const length = 4 * 1024 * 1024;

  /** A client that has been sent so many bytes, within windows that it need not widen. */
  async function clientThatHasRead(context: TestContext): Promise<RawHttp2> {
    const { client } = await startWithFrames(context, () => new Response(Buffer.alloc(length)), {
      first: [preface, settingsFrame(4, 2 ** 30)],
    });
    client.widen(0, 2 ** 30);
    client.request(1, requestLines());
    await eventually(() => client.hasEnded(1));
    return client;
  }

  test('after each 4 KiB for stream and connection, as Go’s client does, are allowed', async (context) => {
    const client = await clientThatHasRead(context);
    for (let read = 0; read < length; read += 4_096) {
      client.widen(0, 4_096);
      client.widen(1, 4_096);
    }
    await client.settled();
    assert.equal(client.isOver, false);
  });

  test('attack: more often than data was sent end the connection', async (context) => {
    const client = await clientThatHasRead(context);
    for (let count = 0; count < 20_000; count++) client.widen(0, 1);
    assert.equal(await client.goAwayCode(), 0xb);
  });
});

test('uploads that come faster than they are read cost their client nothing', async (context) => {
  const { client } = await startWithFrames(context, (request) => {
    // Opened and not read.
    void request.body?.getReader().closed.catch(() => {});
    return new Promise(() => {});
  });
  const settings = client.of(frameType.settings)[0]?.payload ?? Buffer.alloc(0);
  let window = 65_535;
  for (let at = 0; at < settings.length; at += 6) {
    if (settings.readUInt16BE(at) === 0x4) window = settings.readUInt32BE(at + 2);
  }
  const streams = Array.from({ length: 100 }, (_, index) => 2 * index + 1);
  for (const stream of streams) client.request(stream, requestLines('/', 'POST'), { endStream: false });
  const lengths = [16_384, 16_384, 16_384, 16_383, ...Array<number>(40).fill(1_024)];
  let sent = 0;
  for (const length of lengths) {
    sent += length;
    if (sent > window) break;
    const piece = Buffer.alloc(length);
    client.write(Buffer.concat(streams.map((stream) => frame(frameType.data, none, stream, piece))));
  }
  await client.settled();
  assert.deepEqual(client.of(frameType.goAway), []);
});

test('the window of a connection is never announced as more than there is, however many streams are allowed', async (context) => {
  const server = { limits: { maxConcurrentStreams: 20_000 } };
  const { client } = await startWithFrames(context, () => new Response('fine'), { server });
  await eventually(() => client.of(frameType.windowUpdate, 0).length > 0);
  const [update] = client.of(frameType.windowUpdate, 0);
  assert.equal(update?.payload.readUInt32BE(0), 2 ** 31 - 1 - initialWindow);
});
