import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { createServer } from 'node:tls';
import { MemoryBudget } from '../sockets/held-bytes.ts';
import { serving } from '../test/certificate.ts';
import { eventually } from '../test/eventually.ts';
import { fieldBlock } from '../test/hpack.ts';
import { rawClient } from '../test/node-client.ts';
import { frame, frameFlag, frameType, RawHttp2, uint32 } from '../test/raw-http2.ts';
import { connectWithFrames, preface, requestLines, startWithFrames } from '../test/raw-http2-client.ts';
import { settingsFrame } from '../test/raw-http2-peer.ts';
import { AddressResets } from './client-budgets.ts';
import { defaultHttp2ServerLimits, ServerSession } from './server-session.ts';
import type { IncomingStream } from './server-stream.ts';

const { none, endStream, endHeaders, padded, priority } = frameFlag;
const enhanceYourCalm = 0xb;
const refusedStream = 0x7;
const fine = (): Response => new Response('fine');

/** HEADERS, and CONTINUATION for what does not fit. */
function headFrames(stream: number, lines: readonly string[] | Buffer, { isWhole = true } = {}): Buffer {
  const block = Buffer.isBuffer(lines) ? lines : fieldBlock(lines as readonly string[]);
  const frames: Buffer[] = [];
  for (let offset = 0; offset < block.length; offset += 16_384) {
    const isLast = isWhole && offset + 16_384 >= block.length;
    frames.push(
      frame(
        offset === 0 ? frameType.headers : frameType.continuation,
        (offset === 0 ? endStream : none) | (isLast ? endHeaders : none),
        stream,
        block.subarray(offset, offset + 16_384),
      ),
    );
  }
  return Buffer.concat(frames);
}

/** Enough memory for heads of 1 MiB, of which one may take a sixteenth. */
const roomy = () => ({ memory: new MemoryBudget(2 ** 26) });

const verified = { identityOf: () => 'alice' };

/** The rest of an integer of HPACK behind a full prefix (RFC 7541 section 5.1). */
function integerRest(left: number): readonly number[] {
  return left < 128 ? [left] : [(left % 128) + 128, ...integerRest(Math.floor(left / 128))];
}

/** More lines than are taken. */
function tooManyLines(): string[] {
  return manyLines(4_100);
}

/** So many lines of 52 bytes, as limits count them, in 23 bytes. */
function manyLines(count: number, path = '/'): string[] {
  return [...requestLines(path), ...Array.from({ length: count }, () => ['x-test', '01234567890123']).flat()];
}

describe('a head that is too large', () => {
  test('gets 431, and its connection stays open', async (context) => {
    const { client } = await startWithFrames(context, fine, { server: verified });
    client.write(headFrames(1, tooManyLines()));
    assert.equal((await client.outcome(1)).status, 431);
    client.request(3, requestLines());
    assert.equal((await client.outcome(3)).status, 200);
  });

  test('begins at 1 MiB, as for kube-apiserver, for who has shown a certificate', async (context) => {
    const { client } = await startWithFrames(context, fine, { server: { ...roomy(), ...verified } });
    client.write(headFrames(1, manyLines(2_000)));
    assert.equal((await client.outcome(1)).status, 200);
    client.write(headFrames(3, [...requestLines(), 'x-large', 'a'.repeat(1_000_000)]));
    assert.equal((await client.outcome(3)).status, 200);
  });

  test('begins at 64 KiB for who has shown none', async (context) => {
    const { client } = await startWithFrames(context, fine, { server: roomy() });
    client.write(headFrames(1, [...requestLines(), 'x-large', 'a'.repeat(60_000)]));
    assert.equal((await client.outcome(1)).status, 200);
    client.write(headFrames(3, [...requestLines(), 'x-large', 'a'.repeat(65_420)]));
    assert.equal((await client.outcome(3)).status, 431);
  });

  test('attack: some hundred bytes that stand for a megabyte are refused', async (context) => {
    let served = 0;
    const server = roomy();
    const { client } = await startWithFrames(
      context,
      () => {
        served += 1;
        return fine();
      },
      { server },
    );
    // The line is put into the dynamic table (RFC 7541 section 6.2.1), and then named by one byte each (section 6.1).
    const value = 'b'.repeat(3_900);
    const length = Buffer.from([0x7f, ...integerRest(value.length - 127)]);
    const kept = Buffer.concat([Buffer.from([0x40, 1]), Buffer.from('x'), length, Buffer.from(value)]);
    client.write(headFrames(1, Buffer.concat([fieldBlock(requestLines()), kept])));
    assert.equal((await client.outcome(1)).status, 200);
    client.write(headFrames(3, Buffer.concat([fieldBlock(requestLines()), Buffer.alloc(250, 0x80 | 62)])));
    assert.equal((await client.outcome(3)).status, 431);
    assert.equal(served, 1);
  });

  test('attack: an endless head is not read beyond the limit', async (context) => {
    const { client } = await startWithFrames(context, fine);
    const lines = [...requestLines(), 'x-large', 'a'.repeat(1024 * 1024)];
    client.write(headFrames(1, lines, { isWhole: false }));
    assert.equal(await client.goAwayCode(), enhanceYourCalm);
  });

  test('attack: repeated, it ends the connection', async (context) => {
    const { client } = await startWithFrames(context, fine);
    const most = 1_000;
    const block = fieldBlock(tooManyLines());
    for (let stream = 1; stream < 2 * most && !client.isOver; stream += 2) {
      client.write(headFrames(stream, block));
      await new Promise(setImmediate);
    }
    assert.equal(await client.goAwayCode(), enhanceYourCalm);
  });
});

describe('a head that does not end', () => {
  const server = { limits: { headerBlockTimeout: 50 } };
  const block = fieldBlock(requestLines());
  for (const [what, bytes] of Object.entries({
    'in the middle of its block': frame(frameType.headers, endStream, 1, block),
    'in the middle of a frame': frame(frameType.headers, endStream | endHeaders, 1, block).subarray(0, 20),
    'in the middle of the head of a frame': Buffer.alloc(5),
  })) {
    test(`attack: ${what} ends its connection in time`, async (context) => {
      const { client } = await startWithFrames(context, fine, { server });
      client.write(bytes);
      assert.equal(await client.goAwayCode(), enhanceYourCalm);
      await eventually(() => client.ended);
    });
  }

  test('is served when the rest comes', async (context) => {
    const { client } = await startWithFrames(context, fine);
    client.write(frame(frameType.headers, endStream, 1, block.subarray(0, 4)));
    await new Promise(setImmediate);
    client.write(frame(frameType.continuation, endHeaders, 1, block.subarray(4)));
    assert.equal((await client.outcome(1)).status, 200);
  });
});

test('attack: unfinished heads on many connections: the oldest is closed', async (context) => {
  // Clients without a certificate have half of it, and seven eighths of that for what can be given up.
  const reliefs: string[] = [];
  const onRelief = (relief: string) => reliefs.push(relief);
  const server = { memory: new MemoryBudget(300_000), onRelief };
  const { client, port } = await startWithFrames(context, fine, { server });
  const unfinished = headFrames(1, [...requestLines(), 'x-large', 'a'.repeat(45_000)], { isWhole: false });
  const begins = async (each: RawHttp2): Promise<RawHttp2> => {
    each.write(unfinished);
    // Nothing may be asked on it any more: wait until another connection has been served behind it.
    const other = await connectWithFrames(context, port);
    await other.settled();
    return each;
  };
  await begins(client);
  const second = await begins(await connectWithFrames(context, port));
  const third = await begins(await connectWithFrames(context, port));
  assert.equal(await client.goAwayCode(), enhanceYourCalm);
  assert.equal(second.isOver, false);
  assert.equal(third.isOver, false);
  // A head that takes more than a small part of what is left is refused so that its client repeats it.
  third.write(frame(frameType.continuation, endHeaders, 1));
  assert.equal(await third.resetCode(1), refusedStream);
  third.request(3, requestLines());
  assert.equal((await third.outcome(3)).status, 200);
  assert.deepEqual(reliefs, ['ended', 'refused']);
});

test('a listener that throws at the end of its stream does not disturb other streams or the server', async (context) => {
  const streams: number[] = [];
  const closed: number[] = [];
  const failures: unknown[] = [];
  const ended = Promise.withResolvers<void>();
  const issue = new Error('an error of ours');
  const server = createServer({ ...serving, ALPNProtocols: ['h2'] }, (socket) => {
    socket.once('close', () => ended.resolve());
    new ServerSession(socket, {
      limits: defaultHttp2ServerLimits,
      addresses: new AddressResets(),
      account: (_socket, connection) =>
        new MemoryBudget(1_000_000).account({ name: 'a client', isVerified: false, connection }),
      headTooLarge: () => {},
      requested(stream) {
        streams.push(stream.id);
        stream.attach({
          onRoom: () => {},
          onGone() {
            closed.push(stream.id);
            if (stream.id === 1) throw issue;
          },
        });
      },
      failed: (error) => failures.push(error),
    });
  });
  context.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = await rawClient(context, (server.address() as AddressInfo).port);
  const client = new RawHttp2(socket);
  client.write(preface);
  client.write(settingsFrame());
  for (const stream of [1, 3, 5]) client.request(stream, requestLines());
  await eventually(() => streams.length === 3);
  socket.destroy();
  await ended.promise;
  assert.deepEqual(closed, [1, 3, 5]);
  assert.deepEqual(failures, [issue]);
});

/** A client without a certificate may have half of it, and seven eighths of that. */
const server = () => ({ memory: new MemoryBudget(400_000) });

test('attack: of uploads that nobody reads the one without progress for the longest time is reset, and the others are served', async (context) => {
  const answers: ((response: Response) => void)[] = [];
  const { client } = await startWithFrames(
    context,
    () => new Promise<Response>((resolve) => answers.push(resolve)),
    { server: server() },
  );
  const piece = Buffer.alloc(16_000);
  for (const stream of [1, 3, 5, 7]) {
    client.request(stream, requestLines('/', 'POST'), { endStream: false });
    for (let count = 0; count < 3; count++) client.data(stream, piece);
    await client.settled();
  }
  assert.equal(await client.resetCode(1), enhanceYourCalm);
  for (const answer of answers) answer(new Response('served'));
  for (const stream of [3, 5, 7]) assert.equal((await client.outcome(stream)).status, 200);
});

test('attack: of responses that the client does not take the oldest is reset, and the connection goes on', async (context) => {
  const large = new Uint8Array(100_000);
  const { client } = await startWithFrames(
    context,
    (request) => new Response(request.url.endsWith('small') ? 'small' : large),
    { server: server() },
  );
  for (const stream of [1, 3, 5]) {
    client.request(stream, requestLines('/'));
    await client.settled();
  }
  assert.equal(await client.resetCode(1), enhanceYourCalm);
  assert.equal(client.isOver, false);
});

test('of the head of a request only what is still needed is kept once its response has begun', async (context) => {
  let incoming: IncomingStream | undefined;
  const { client } = await startWithFrames(context, (_request, bindings) => {
    incoming = bindings.incoming;
    return new Response('begun');
  });
  client.request(1, [...requestLines('/'), 'x-large', 'a'.repeat(10_000), 'user-agent', 'kubectl']);
  await client.outcome(1);
  assert.deepEqual(incoming?.head.headers, ['user-agent', 'kubectl']);
});

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
  // Content that was under way is no error.
  client.data(1, 'more', endStream);
  client.request(3, requestLines());
  assert.equal((await client.outcome(3)).status, 413);
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
