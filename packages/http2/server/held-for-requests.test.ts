import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { headMemory } from '../fields/header-fields.ts';
import { errorCode } from '../frames/frame.ts';
import { MemoryBudget } from '../sockets/held-bytes.ts';
import { startAdapter } from '../test/adapter.ts';
import { eventually } from '../test/eventually.ts';
import { fieldBlock } from '../test/hpack.ts';
import { frame, frameFlag, frameType, type RawHttp2, uint32 } from '../test/raw-http2.ts';
import { connectWithFrames, preface, requestLines } from '../test/raw-http2-client.ts';
import { settingsFrame } from '../test/raw-http2-peer.ts';
import type { IncomingStream } from './server-stream.ts';

/** The initial flow-control window of a response: none of its content is taken. */
const takesNothing = [preface, settingsFrame(0x4, 0)];

interface Opened {
  readonly memory: MemoryBudget;
  readonly client: RawHttp2;
  readonly streams: IncomingStream[];
  /** Settles the handler of each request, in their order. */
  readonly answers: ((response: Response) => void)[];
  /** Waits until as many bytes are held, and what was written has left the process. */
  holds(bytes: number): Promise<void>;
}

/** A server whose memory can be looked at, and one client of it whose connection stays open. */
async function open(context: TestContext, first?: readonly Buffer[]): Promise<Opened> {
  const memory = new MemoryBudget(2 ** 26);
  const streams: IncomingStream[] = [];
  const answers: ((response: Response) => void)[] = [];
  const fetch = (_request: Request, { incoming }: { readonly incoming: IncomingStream }) => {
    streams.push(incoming);
    return new Promise<Response>((resolve) => answers.push(resolve));
  };
  const { port } = await startAdapter(context, fetch, { memory });
  const client = await connectWithFrames(context, port, first);
  const holds = async (bytes: number): Promise<void> => {
    await client.settled();
    await eventually(() => memory.bytes === bytes);
  };
  return { memory, client, streams, answers, holds };
}

const target = '/held';
const lines = ['user-agent', 'a test'];
const upload = requestLines(target, 'POST', ...lines);
const head = headMemory(target, lines);

describe('what is held for a request, while its connection stays open', () => {
  test('its head, until the response begins; of it the target, until the response ends', async (context) => {
    const { client, streams, holds } = await open(context);
    client.request(1, requestLines(target, 'GET', ...lines));
    await holds(head);
    streams[0]?.respond(200, []);
    await holds(target.length);
    streams[0]?.end();
    await holds(0);
  });

  test('its content, as long as nobody has read it', async (context) => {
    const { client, streams, holds } = await open(context);
    client.request(1, upload, { endStream: false });
    client.data(1, Buffer.alloc(1_000));
    await holds(head + 1_000);
    assert.deepEqual(streams[0]?.content.read(), Buffer.alloc(1_000));
    await holds(head);
    client.data(1, Buffer.alloc(500));
    await holds(head + 500);
    streams[0]?.content.destroy();
    await holds(head);
    streams[0]?.respond(204, []);
    streams[0]?.end();
    await holds(0);
  });

  test('its response, as long as the client has not taken it', async (context) => {
    const { client, streams, holds } = await open(context, takesNothing);
    client.request(1, requestLines(target, 'GET', ...lines));
    await holds(head);
    streams[0]?.respond(200, []);
    streams[0]?.write(Buffer.alloc(3_000));
    await holds(target.length + 3_000);
    client.widen(1, 1_000);
    await holds(target.length + 2_000);
    client.widen(1, 2_000);
    await holds(target.length);
    streams[0]?.end();
    await holds(0);
  });

  test('what its handler holds elsewhere', async (context) => {
    const { client, streams, holds } = await open(context);
    client.request(1, requestLines(target, 'GET', ...lines));
    await holds(head);
    streams[0]?.held.add(700);
    await holds(head + 700);
    streams[0]?.breakOff();
    streams[0]?.held.add(700);
    await holds(0);
  });
});

describe('nothing is held any more for a request that has unread content and an untaken response', () => {
  const endings: Readonly<Record<string, (client: RawHttp2, stream: IncomingStream) => void>> = {
    'that the client resets': (client) =>
      client.write(frame(frameType.rstStream, frameFlag.none, 1, uint32(errorCode.cancel))),
    'that its handler breaks off': (_client, stream) => stream.breakOff(),
    'for which the memory runs short': (_client, stream) => stream.giveUp(),
    'whose content is malformed': (client) => client.data(1, Buffer.alloc(10), frameFlag.endStream),
    'whose client takes its response, and sends no more': (client) => client.widen(1, 3_000),
  };
  for (const [how, end] of Object.entries(endings)) {
    test(how, async (context) => {
      const { client, streams, holds } = await open(context, takesNothing);
      client.request(1, [...upload, 'content-length', '2000'], { endStream: false });
      client.data(1, Buffer.alloc(1_000));
      await holds(headMemory(target, [...lines, 'content-length', '2000']) + 1_000);
      const [stream] = streams;
      assert.ok(stream);
      stream.respond(200, []);
      stream.write(Buffer.alloc(3_000));
      stream.end();
      await holds(target.length + 4_000);
      end(client, stream);
      await holds(0);
      assert.equal(client.isOver, false);
    });
  }

  test('whose connection ends', async (context) => {
    const { memory, client, streams, holds } = await open(context, takesNothing);
    client.request(1, upload, { endStream: false });
    client.data(1, Buffer.alloc(1_000));
    await holds(head + 1_000);
    streams[0]?.respond(200, []);
    streams[0]?.write(Buffer.alloc(3_000));
    await holds(target.length + 4_000);
    client.socket.destroy();
    await eventually(() => memory.bytes === 0);
  });
});

describe('an unfinished head', () => {
  const block = fieldBlock(requestLines(target));
  const begun = frame(frameType.headers, frameFlag.endStream, 1, block);

  test('is held until it is whole', async (context) => {
    const { memory, client, answers, holds } = await open(context);
    client.write(begun);
    await eventually(() => memory.bytes > 0);
    client.write(frame(frameType.continuation, frameFlag.endHeaders, 1));
    await holds(headMemory(target, []));
    answers[0]?.(new Response());
    await holds(0);
  });

  test('is held no more once its connection is given up, although the client stays', async (context) => {
    const { memory, client } = await open(context);
    client.write(begun);
    await eventually(() => memory.bytes > 0);
    let heldAtEnd: number | undefined;
    client.socket.once('data', () => {
      heldAtEnd = memory.bytes;
    });
    // A frame of another kind between the parts of a head (RFC 9113 section 4.3).
    client.write(frame(frameType.ping, frameFlag.none, 0, Buffer.alloc(8)));
    assert.equal(await client.goAwayCode(), errorCode.protocolError);
    // The buffer of the GOAWAY may not have come back yet.
    assert.ok(heldAtEnd === 0 || heldAtEnd === 4_096, `${heldAtEnd} bytes`);
  });
});
