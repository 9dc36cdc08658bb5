import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { preface, requestLines, startWithFrames } from '../../../test/support/raw-http2-client.ts';
import { settingsFrame, uint32 } from '../../../test/support/raw-http2-peer.ts';
import { fieldBlock } from '../../../test/support/security/hpack.ts';
import { frame, frameFlag, frameType } from '../../../test/support/security/raw-http2.ts';

const { none, endStream, endHeaders, padded, priority } = frameFlag;
const refusedStream = 0x7;

const fine = (): Response => new Response('fine');
/** Never responds. */
const never = (): Promise<Response> => new Promise(() => {});

test('requests are served, however their heads are split and padded', async (context) => {
  const { client } = await startWithFrames(context, (request) => new Response(new URL(request.url).pathname));
  const block = fieldBlock(requestLines('/whole'));
  const inPieces = fieldBlock(requestLines('/pieces'));
  client.write(
    frame(
      frameType.headers,
      endStream | endHeaders | padded | priority,
      1,
      Buffer.concat([Buffer.from([3]), uint32(0), Buffer.from([15]), block, Buffer.alloc(3)]),
    ),
    frame(frameType.headers, endStream, 3, inPieces.subarray(0, 2)),
    frame(frameType.continuation, none, 3, inPieces.subarray(2, 9)),
    frame(frameType.continuation, endHeaders, 3, inPieces.subarray(9)),
    frame(frameType.priority, none, 5, Buffer.concat([uint32(0), Buffer.from([1])])),
    frame(0x77, none, 0, Buffer.from('an extension')),
  );
  assert.deepEqual(await client.outcome(1), { status: 200, body: '/whole' });
  assert.deepEqual(await client.outcome(3), { status: 200, body: '/pieces' });
});

test('a request may arrive byte by byte', async (context) => {
  const first = Buffer.concat([preface, settingsFrame()]);
  const { client } = await startWithFrames(context, fine, {
    first: [...first].map((byte) => Buffer.from([byte])),
  });
  await client.settled();
  const block = fieldBlock(requestLines());
  for (const byte of frame(frameType.headers, endStream | endHeaders, 1, block)) {
    client.write(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
  assert.equal((await client.outcome(1)).body, 'fine');
});

test('responses to HEAD and with 204, 205 and 304 have no content', async (context) => {
  const { client } = await startWithFrames(context, (request) => {
    const { pathname } = new URL(request.url);
    if (request.method === 'HEAD') return new Response(null, { headers: { 'content-length': '5' } });
    return new Response(null, { status: Number(pathname.slice(1)) });
  });
  client.request(1, requestLines('/', 'HEAD'));
  client.request(3, requestLines('/204'));
  client.request(5, requestLines('/205'));
  client.request(7, requestLines('/304'));
  for (const [stream, status] of [
    [1, 200],
    [3, 204],
    [5, 205],
    [7, 304],
  ] as const) {
    assert.deepEqual(await client.outcome(stream), { status, body: '' });
  }
});

test('unknown methods and targets that are no path reach the handler; CONNECT does not', async (context) => {
  const { client } = await startWithFrames(context, ({ method }) => new Response(method));
  client.request(1, requestLines('/', 'TRACE'));
  client.request(3, requestLines('/', 'patch'));
  client.request(5, [':method', 'CONNECT', ':authority', 'localhost:443']);
  client.request(7, requestLines('*', 'OPTIONS'));
  assert.equal((await client.outcome(1)).body, 'TRACE');
  assert.equal((await client.outcome(3)).body, 'patch');
  assert.equal((await client.outcome(5)).status, 405);
  assert.equal((await client.outcome(7)).body, 'OPTIONS');
});

test('a client that expects 100-continue gets 100; another expectation gets 417', async (context) => {
  const { client } = await startWithFrames(context, async (request) => new Response(await request.text()));
  client.request(1, requestLines('/', 'POST', 'expect', '100-continue'), { endStream: false });
  await eventually(() => client.of(frameType.headers, 1).length === 1);
  assert.deepEqual(client.of(frameType.headers, 1)[0]?.payload.toString('latin1'), '\x20\x18\x03100');
  client.data(1, 'content', endStream);
  assert.equal(client.of(frameType.headers, 1).length, 1);
  await eventually(() => client.hasEnded(1));
  assert.equal(
    Buffer.concat(client.of(frameType.data, 1).map(({ payload }) => payload)).toString(),
    'content',
  );

  client.request(3, requestLines('/', 'POST', 'expect', '200-maybe'), { endStream: false });
  assert.equal((await client.outcome(3)).status, 417);
});

test('a response in front of the end of an upload: END_STREAM, then RST_STREAM with NO_ERROR (RFC 9113 section 8.1)', async (context) => {
  const { client } = await startWithFrames(context, () => new Response('enough', { status: 413 }));
  client.request(1, requestLines('/', 'POST'), { endStream: false });
  client.data(1, 'a part');
  assert.equal(await client.resetCode(1), 0);
  assert.deepEqual(await client.outcome(1), { status: 413, body: 'enough' });
  const types = client.frames.filter(({ stream }) => stream === 1).map(({ type }) => type);
  assert.deepEqual(types.slice(-2), [frameType.data, frameType.rstStream]);
  // What was under way is no error.
  client.data(1, 'more', endStream);
  client.request(3, requestLines());
  assert.equal((await client.outcome(3)).status, 413);
});

test('a 401 ends the connection (kubernetes#121120)', async (context) => {
  const { client } = await startWithFrames(context, () => new Response('who?', { status: 401 }));
  client.request(1, requestLines());
  assert.equal((await client.outcome(1)).status, 401);
  assert.equal(await client.goAwayCode(), 0);
  assert.equal(client.of(frameType.goAway)[0]?.payload.readUInt32BE(0), 1);
  await eventually(() => client.ended);
});

test('a draining server sends GOAWAY, finishes requests in flight, and accepts no more', async (context) => {
  const response = Promise.withResolvers<Response>();
  let requests = 0;
  const { client, server } = await startWithFrames(context, () => {
    requests++;
    return response.promise;
  });
  client.request(1, requestLines());
  await eventually(() => requests === 1);
  server.drain();
  assert.equal(await client.goAwayCode(), 0);
  // It crossed the GOAWAY: whoever sent it may send it anew (RFC 9113 section 6.8).
  client.request(3, requestLines('/', 'POST'), { endStream: false });
  client.data(3, 'content', endStream);
  client.widen(3, 1_000);
  await client.settled();
  response.resolve(new Response('in peace'));
  await eventually(() => client.hasEnded(1));
  assert.deepEqual(await client.outcome(1), { status: 200, body: 'in peace' });
  await eventually(() => client.ended);
  assert.equal(requests, 1);
  assert.deepEqual(client.of(frameType.headers, 3), []);
});

test('a client that sends GOAWAY gets its responses before the connection ends', async (context) => {
  const response = Promise.withResolvers<Response>();
  const { client } = await startWithFrames(context, () => response.promise);
  client.request(1, requestLines());
  client.write(frame(frameType.goAway, none, 0, uint32(0, 0)));
  await client.settled();
  response.resolve(fine());
  assert.equal((await client.outcome(1)).body, 'fine');
  await eventually(() => client.ended);
});

test('a request after a GOAWAY that ended the connection is not processed', async (context) => {
  let requests = 0;
  const { client } = await startWithFrames(context, () => {
    requests++;
    return fine();
  });
  const block = fieldBlock(requestLines('/', 'POST'));
  client.write(
    frame(frameType.goAway, none, 0, uint32(0, 0)),
    frame(frameType.headers, endStream | endHeaders, 1, block),
  );
  await eventually(() => client.ended);
  assert.equal(requests, 0);
});

test('a body that fails resets its own stream only', async (context) => {
  const { client } = await startWithFrames(context, (request) => {
    if (new URL(request.url).pathname !== '/failing') return fine();
    let pulls = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (pulls++ === 0) controller.enqueue(Buffer.from('half'));
        else controller.error(new Error('it fails'));
      },
    });
    return new Response(body);
  });
  client.request(1, requestLines('/failing'));
  assert.equal(await client.resetCode(1), 0x2);
  assert.equal(client.hasEnded(1), false);
  client.request(3, requestLines());
  assert.equal((await client.outcome(3)).body, 'fine');
});

test('requests beyond the limit are refused, and may be sent again', async (context) => {
  const limits = { maxConcurrentStreams: 2 };
  const { client } = await startWithFrames(context, never, { server: { limits } });
  for (const stream of [1, 3, 5]) client.request(stream, requestLines());
  assert.equal(await client.resetCode(5), refusedStream);
  client.write(frame(frameType.rstStream, none, 1, uint32(0x8)));
  client.request(7, requestLines());
  await client.settled();
  assert.deepEqual(client.of(frameType.rstStream, 7), []);
});
