import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { GatheredWrites, handleInput, TransferBuffers, transferBufferBytes } from './gathered-writes.ts';

/** A client whose writes end when the test says so. Compares each piece at its end with what it was at its beginning. */
class HeldClient extends Writable {
  readonly received: Buffer[] = [];
  /** As `received`, but the memory that was written from. */
  readonly lent: Buffer[] = [];
  readonly #ends: ((error?: Error) => void)[] = [];

  constructor() {
    super({ highWaterMark: 1 });
    this.on('error', () => {});
  }

  override _write(chunk: Buffer, _encoding: string, callback: (error?: Error | null) => void): void {
    const begun = Buffer.from(chunk);
    this.received.push(begun);
    this.lent.push(chunk);
    this.#ends.push((error) => {
      assert.ok(begun.equals(chunk), 'the bytes of a write under way were overwritten');
      callback(error);
    });
  }

  get isWriting(): boolean {
    return this.#ends.length > 0;
  }

  endWrite(error?: Error): void {
    this.#ends.shift()?.(error);
  }
}

/** Write callbacks come a tick later. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function newWrites() {
  const client = new HeldClient();
  const seen = { room: 0 };
  const writes = new GatheredWrites(client, () => {
    seen.room++;
  });
  return { client, writes, seen };
}

/** A clock that stands still unless it is told otherwise. */
function mockedClock(context: TestContext) {
  const clock = { now: 1_000 };
  context.mock.method(performance, 'now', () => clock.now);
  return clock;
}

describe('gathered writes', () => {
  test('of an input that comes alone are sent as soon as it is handled, once', (context) => {
    mockedClock(context).now = 1e9;
    const { client, writes } = newWrites();
    handleInput((text) => {
      writes.addText(text);
      writes.addText(text);
      assert.deepEqual(client.received, []);
    }, 'one ');
    assert.deepEqual(client.received.map(String), ['one one ']);
  });

  test('of the inputs behind it wait for the end of the turn', async (context) => {
    mockedClock(context).now = 2e9;
    const { client, writes } = newWrites();
    const other = newWrites();
    handleInput((text) => other.writes.addText(text), 'first');
    for (const input of ['second ', 'third']) handleInput((text) => writes.addText(text), input);
    assert.deepEqual(client.received, []);
    await settled();
    assert.deepEqual(client.received.map(String), ['second third']);
  });

  test('of an input that is a part only wait for the rest, or for the end of the turn', async (context) => {
    const clock = mockedClock(context);
    clock.now = 3e9;
    const { client, writes } = newWrites();
    handleInput((text) => writes.addText(text, false), 'head ');
    assert.deepEqual(client.received, []);
    handleInput((text) => writes.addText(text), 'content');
    assert.deepEqual(client.received.map(String), ['head content']);
    client.endWrite();
    await settled();
    clock.now += 1_000;
    handleInput((text) => writes.addText(text, false), 'head of a watch');
    await settled();
    assert.deepEqual(client.received.map(String), ['head content', 'head of a watch']);
  });

  test('send what comes in a turn of the event loop in one piece, and what comes meanwhile in another', async () => {
    const { client, writes } = newWrites();
    for (const chunk of ['one ', 'two ']) assert.equal(writes.add(Buffer.from(chunk)), true);
    assert.deepEqual(client.received, []);
    await settled();
    assert.deepEqual(client.received.map(String), ['one two ']);
    for (const chunk of ['three ', 'four ']) assert.equal(writes.add(Buffer.from(chunk)), true);
    await settled();
    writes.add(Buffer.from('five'));
    client.endWrite();
    await settled();
    assert.deepEqual(client.received.map(String), ['one two ', 'three four five']);
  });

  test('are not sent twice when they were asked for before the turn has ended', async () => {
    const { client, writes } = newWrites();
    writes.add(Buffer.from('whole'));
    writes.flush();
    await settled();
    assert.deepEqual(client.received.map(String), ['whole']);
  });

  test('use the memory of a finished write again', async () => {
    const { client, writes } = newWrites();
    for (const chunk of ['one', 'two']) {
      writes.add(Buffer.from(chunk));
      await settled();
      client.endWrite();
      await settled();
    }
    assert.deepEqual(client.received.map(String), ['one', 'two']);
    assert.equal(client.lent[0]?.buffer, client.lent[1]?.buffer);
  });

  test('hold the writer when the client is slower, and let it go on', async () => {
    const { client, writes, seen } = newWrites();
    const chunk = Buffer.alloc(16 * 1024);
    writes.add(chunk);
    await settled();
    let taken = 1;
    while (writes.add(chunk)) taken++;
    // The first is under way; three behind it stay below half a buffer.
    assert.equal(taken, 4);
    assert.equal(seen.room, 0);
    client.endWrite();
    await settled();
    assert.equal(seen.room, 1);
    assert.equal(writes.add(chunk), true);
  });

  test('hold the writer in the turn in which it fills a buffer and half of another', async () => {
    const { client, writes, seen } = newWrites();
    const chunk = Buffer.alloc(16 * 1024);
    let bytes = chunk.length;
    while (writes.add(chunk)) bytes += chunk.length;
    assert.equal(bytes, transferBufferBytes + transferBufferBytes / 2);
    client.endWrite();
    await settled();
    assert.equal(seen.room, 1);
  });

  test('are made from small buffers while little comes, for thousands of connections may have an event in one turn', async () => {
    const { client, writes } = newWrites();
    writes.addText('x'.repeat(4_000));
    writes.add(Buffer.alloc(96, 'y'));
    await settled();
    writes.addText('x'.repeat(4_000));
    writes.add(Buffer.alloc(97, 'y'));
    client.endWrite();
    await settled();
    assert.deepEqual(
      client.lent.map(({ buffer, length }) => [buffer.byteLength, length]),
      [
        [4_096, 4_096],
        [transferBufferBytes, 4_097],
      ],
    );
    assert.equal(String(client.received[1]), `${'x'.repeat(4_000)}${'y'.repeat(97)}`);
  });

  test('take what still comes after the writer was held', async () => {
    const { client, writes } = newWrites();
    const bytes = Buffer.alloc(5 * transferBufferBytes, 'abcdefghij');
    assert.equal(writes.add(bytes), false);
    while (client.isWriting) {
      client.endWrite();
      await settled();
    }
    writes.flush();
    client.endWrite();
    assert.ok(Buffer.concat(client.received).equals(bytes));
  });

  test('a piece that still comes after the writer was held does not cancel the call to go on', async () => {
    const { client, writes, seen } = newWrites();
    assert.equal(writes.add(Buffer.alloc(2 * transferBufferBytes)), false);
    client.endWrite();
    await settled();
    assert.equal(writes.add(Buffer.from('late')), false);
    while (client.isWriting) {
      client.endWrite();
      await settled();
    }
    assert.equal(seen.room, 1);
  });

  test('attack: a buffer whose write has failed is given to nobody else', async () => {
    const { client, writes } = newWrites();
    writes.add(Buffer.from('secret'));
    await settled();
    const [piece] = client.lent;
    client.endWrite(new Error('the client went away'));
    await settled();
    const next = newWrites();
    next.writes.add(Buffer.from('public'));
    await settled();
    assert.deepEqual(next.client.received.map(String), ['public']);
    assert.equal(String(piece), 'secret');
  });

  test('whatever is written, however slowly, arrives in order and unmixed', async () => {
    const chunk = fc.tuple(
      fc.constantFrom(1, 100, 4_000, 5_000, 16_384, 70_000, 200_000),
      fc.nat(255),
      fc.boolean(),
    );
    const step = fc.oneof(
      fc.record({ response: fc.nat(2), chunk }),
      fc.record({ response: fc.nat(2), chunk: fc.constant(undefined) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const responses = [newWrites(), newWrites(), newWrites()];
        const expected: Buffer[][] = [[], [], []];
        // The buffer that a connection reads into: overwritten after each piece.
        const lent = Buffer.alloc(200_000);
        for (const { response, chunk } of steps) {
          const { client, writes } = responses[response] ?? assert.fail();
          if (chunk === undefined) {
            client.endWrite();
            await settled();
            continue;
          }
          const [length, byte, asText] = chunk;
          const piece = lent.fill(byte, 0, length).subarray(0, length);
          expected[response]?.push(Buffer.from(piece));
          if (asText) writes.addText(piece.toString('latin1'));
          else writes.add(piece);
          lent.fill(0);
        }
        for (const [index, { client, writes }] of responses.entries()) {
          writes.flush();
          while (client.isWriting) {
            client.endWrite();
            await settled();
          }
          assert.ok(Buffer.concat(client.received).equals(Buffer.concat(expected[index] ?? [])));
        }
      }),
      { numRuns: 60 },
    );
  });
});

test('buffers are used again, and a bounded number of them is kept', () => {
  const buffers = new TransferBuffers(1_000, 64);
  const first = buffers.take();
  assert.equal(first.length, 1_000);
  assert.notEqual(buffers.take(), first);
  buffers.release(first);
  assert.equal(buffers.take(), first);
  const many = Array.from({ length: 100 }, () => buffers.take());
  for (const buffer of many) buffers.release(buffer);
  const kept = Array.from({ length: 100 }, () => buffers.take()).filter((buffer) => many.includes(buffer));
  assert.equal(kept.length, 64);
});
