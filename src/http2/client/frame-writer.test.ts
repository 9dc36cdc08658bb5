import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { FrameWriter } from './frame-writer.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Keeps what is written to it, each time; takes the next piece when it is told to. */
class SlowSocket extends Writable {
  readonly writes: Buffer[] = [];
  readonly #waiting: (() => void)[] = [];

  constructor() {
    super({ highWaterMark: 16_384 });
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.writes.push(chunk);
    this.#waiting.push(callback);
  }

  /** Everything that was written has been read. */
  async read(): Promise<void> {
    while (this.#waiting.length > 0) {
      this.#waiting.shift()?.();
      await turn();
    }
  }
}

test('what is written in one turn leaves in one piece, byte strings and bytes in order', async () => {
  const socket = new SlowSocket();
  const writer = new FrameWriter(socket);
  writer.write('\x00\xff');
  writer.write(Buffer.from([1, 0x80]));
  writer.write('\x7f');
  assert.deepEqual(socket.writes, []);
  await turn();
  assert.deepEqual(socket.writes, [Buffer.from([0, 0xff, 1, 0x80, 0x7f])]);
  await socket.read();
  writer.write('\xe9');
  await turn();
  assert.deepEqual(socket.writes[1], Buffer.from([0xe9]));
});

test('flushed, it leaves at once, and once only', async () => {
  const socket = new SlowSocket();
  const writer = new FrameWriter(socket);
  writer.write('a');
  writer.flush();
  assert.equal(socket.writes.length, 1);
  await turn();
  writer.flush();
  assert.equal(socket.writes.length, 1);
});

test('much does not wait for the end of the turn: whether the server takes more shows at once', () => {
  const socket = new SlowSocket();
  const writer = new FrameWriter(socket);
  for (let count = 0; count < 3; count++) writer.write(Buffer.alloc(16_384));
  assert.equal(writer.needsDrain, false);
  for (let count = 0; count < 3; count++) writer.write(Buffer.alloc(16_384));
  assert.equal(writer.needsDrain, true);
});

test('attack: control frames that a server makes us write and never reads are a flood, its own uploads are none', async () => {
  const socket = new SlowSocket();
  const writer = new FrameWriter(socket);
  for (let count = 0; count < 200; count++) writer.write(Buffer.alloc(16_384));
  assert.equal(writer.isFlooded, false);
  assert.equal(writer.isFull, true);
  for (let count = 0; count < 130; count++) writer.writeControl('a'.repeat(8_192));
  assert.equal(writer.isFlooded, true);
  await socket.read();
  writer.drained();
  assert.equal(writer.isFlooded, false);
  assert.equal(writer.isFull, false);
});

test('what is written to a connection that is gone is thrown away', async () => {
  const socket = new SlowSocket();
  const writer = new FrameWriter(socket);
  socket.destroy();
  writer.write('a');
  await turn();
  writer.flush();
  assert.deepEqual(socket.writes, []);
});
