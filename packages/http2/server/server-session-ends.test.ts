import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { type TestContext, test } from 'node:test';
import { startAdapter } from '../test/adapter.ts';
import { trusting } from '../test/certificate.ts';
import { eventually } from '../test/eventually.ts';
import { fieldBlock } from '../test/hpack.ts';
import { askHttp2, http2Client } from '../test/node-client.ts';
import { frame, frameFlag, frameType, uint32 } from '../test/raw-http2.ts';
import { connectWithFrames, preface, requestLines, startWithFrames } from '../test/raw-http2-client.ts';
import { settingsFrame } from '../test/raw-http2-peer.ts';

const { none, endStream, endHeaders } = frameFlag;
const large = 3_000_000;

/** Asks for a large response with windows wide enough that the router has sent it before it is read. */
async function readLarge(context: TestContext, port: number): Promise<number> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, {
    ...trusting,
    settings: { initialWindowSize: 4_000_000 },
  });
  context.after(() => session.destroy());
  session.on('error', () => {});
  await once(session, 'connect');
  session.setLocalWindowSize(4_000_000);
  const stream = session.request({ ':path': '/' });
  let received = 0;
  // Bytes that are sent on a connection that the other side has closed draw a reset.
  stream.on('data', (piece: Buffer) => {
    received += piece.length;
  });
  await new Promise((resolve) => stream.on('close', resolve).on('error', () => {}));
  return received;
}

test('a connection that is to end after a response waits until the client has all of it', async (context) => {
  const { port } = await startAdapter(context, (_request, { incoming }) => {
    incoming.closeConnection();
    return new Response(Buffer.alloc(large, 'x'));
  });
  // Few enough that on a busy machine each makes progress within the time that a client has to read.
  const responses = await Promise.all(Array.from({ length: 5 }, () => readLarge(context, port)));
  assert.deepEqual(new Set(responses), new Set([large]));
});

test('a client without a table of header lines is served (RFC 7541 section 4.2)', async (context) => {
  const { port } = await startAdapter(context, () => new Response('fine'));
  const session = connectHttp2(`https://127.0.0.1:${port}`, {
    ...trusting,
    settings: { headerTableSize: 0 },
  });
  context.after(() => session.destroy());
  for (let count = 0; count < 2; count++) {
    assert.equal((await askHttp2(session)).body.toString(), 'fine');
  }
  session.settings({ headerTableSize: 100 });
  assert.equal((await askHttp2(session)).body.toString(), 'fine');
});

test('a request that has been responded to gets no second response, even while the first waits', async (context) => {
  const late = Promise.withResolvers<void>();
  const { client } = await startWithFrames(
    context,
    async (_request, { incoming }) => {
      incoming.respond(503, []);
      incoming.write(Buffer.from('the first'));
      incoming.end();
      await late.promise;
      assert.throws(() => incoming.respond(200, ['content-type', 'text/plain']), TypeError);
      return new Response('late');
    },
    { first: [preface, settingsFrame(4, 0)] },
  );
  client.request(1, requestLines());
  await eventually(() => client.of(frameType.headers, 1).length === 1);
  late.resolve();
  await client.settled();
  client.widen(1, 10_000);
  const { status, body } = await client.outcome(1);
  assert.equal(status, 503);
  assert.equal(body, 'the first');
  assert.equal(client.of(frameType.headers, 1).length, 1);
});

test('attack: a client that reads nothing cannot collect responses without content', async (context) => {
  const { client } = await startWithFrames(context, () => new Response());
  client.socket.pause();
  const connect = fieldBlock([':method', 'CONNECT', ':authority', 'a']);
  const most = 40_000;
  for (let first = 0; first < most; first += 1_000) {
    const requests = Array.from({ length: 1_000 }, (_, index) =>
      frame(frameType.headers, endStream | endHeaders, 2 * (first + index) + 1, connect),
    );
    client.write(Buffer.concat(requests));
    await eventually(() => !client.socket.writableNeedDrain);
  }
  client.socket.resume();
  assert.ok([undefined, 0xb].includes(await client.endedWith()));
  const responses = client.of(frameType.headers).length;
  assert.ok(responses < most, `all of ${responses} requests were answered`);
});

test('attack: unread responses keep their streams open, so that the client can open no more', async (context) => {
  let asked = 0;
  let open = 0;
  const { client } = await startWithFrames(
    context,
    (_request, { incoming }) => {
      asked++;
      open++;
      incoming.follow({ onClosed: () => open-- });
      return new Response(Buffer.alloc(60_000));
    },
    { first: [preface, settingsFrame(4, 2 ** 31 - 1)] },
  );
  client.widen(0, 2 ** 31 - 1 - 65_535);
  client.socket.pause();
  for (let stream = 1; stream < 20_001; stream += 2) {
    client.request(stream, requestLines());
    if (stream % 20 === 1) await new Promise(setImmediate);
  }
  await eventually(() => client.socket.writableLength === 0);
  client.socket.resume();
  assert.ok([undefined, 0xb].includes(await client.endedWith()));
  assert.ok(asked < 2_000, `${asked} were answered`);
  await eventually(() => open === 0);
});

test('attack: tiny pieces of unread content are bounded', async (context) => {
  const { client } = await startWithFrames(context, (request) => {
    // Opened and not read.
    void request.body?.getReader().closed.catch(() => {});
    return new Promise(() => {});
  });
  const streams = Array.from({ length: 50 }, (_, index) => 2 * index + 1);
  for (const stream of streams) client.request(stream, requestLines('/', 'POST'), { endStream: false });
  const tinyPieces = Buffer.concat(
    streams.map((stream) => frame(frameType.data, none, stream, Buffer.from('x'))),
  );
  let writes = 0;
  for (; writes < 2_000 && !client.isOver; writes++) {
    client.write(tinyPieces);
    await new Promise(setImmediate);
  }
  assert.equal(await client.goAwayCode(), 0xb);
});

test('attack: content that waits for a window is freed when its stream ends', async (context) => {
  let open = 0;
  const { client } = await startWithFrames(context, (_request, { incoming }) => {
    open++;
    incoming.follow({ onClosed: () => open-- });
    return new Response(Buffer.alloc(100_000));
  });
  client.request(1, requestLines());
  await eventually(() => client.received(1) === 65_535);
  for (let stream = 3; stream < 203; stream += 2) client.request(stream, requestLines());
  await client.settled();
  for (let stream = 1; stream < 203; stream += 2) {
    client.write(frame(frameType.rstStream, none, stream, uint32(0x8)));
  }
  await eventually(() => open === 0);
  client.widen(0, 1_000_000);
  client.request(203, requestLines());
  await eventually(() => client.received(203) === 65_535);
  client.widen(203, 100_000);
  await eventually(() => client.hasEnded(203));
});

test('a silent body is cancelled when its client goes away', async (context) => {
  let cancelled = 0;
  const { port } = await startAdapter(
    context,
    () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(Buffer.from('first')),
          cancel: () => {
            cancelled++;
          },
        }),
      ),
  );
  const stream = http2Client(context, port).request({ ':path': '/' });
  stream.on('error', () => {});
  await once(stream, 'data');
  stream.close(8);
  await eventually(() => cancelled === 1);
});

test('a client that breaks the protocol after a GOAWAY is told so by a second one (RFC 9113 section 5.4.1)', async (context) => {
  const { port, http2 } = await startAdapter(context, () => new Promise<Response>(() => {}));
  const client = await connectWithFrames(context, port, [preface, settingsFrame()]);
  client.request(1, requestLines());
  await client.settled();
  http2.close();
  await eventually(() => client.of(frameType.goAway).length === 1);
  client.write(frame(frameType.ping, none, 1, Buffer.alloc(8)));
  await eventually(() => client.ended);
  assert.deepEqual(
    client.of(frameType.goAway).map(({ payload }) => payload),
    [uint32(1, 0), uint32(1, 0x1)],
  );
});
