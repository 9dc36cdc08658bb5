import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { RequestContent } from './server-stream.ts';

function newContent() {
  const granted: number[] = [];
  const held: number[] = [];
  const content = new RequestContent({ add: (bytes) => held.push(bytes) }, (bytes) => granted.push(bytes));
  return { content, sumGranted: () => sum(granted), sumHeld: () => sum(held) };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

test('content is copied, counts as held, and is granted again when it is read', async () => {
  const { content, sumGranted, sumHeld } = newContent();
  const lent = Buffer.from('abc');
  content.receive(lent);
  lent.fill('x');
  content.receive(Buffer.from('def'));
  content.deliver();
  assert.deepEqual([sumHeld(), sumGranted()], [6, 0]);
  content.receiveEnd();
  content.deliver();
  assert.equal(Buffer.concat(await content.toArray()).toString(), 'abcdef');
  assert.deepEqual([sumHeld(), sumGranted()], [0, 6]);
});

test('it can be taken whole when all of it is there, as its length says', async () => {
  const { content } = newContent();
  content.receive(Buffer.from('whole'));
  content.receiveEnd();
  content.deliver();
  assert.equal(content.readableLength, 5);
  assert.equal(String(content.read(5)), 'whole');
  content.resume();
  await once(content, 'end');
});

test('unread content waits, and is not granted again', async () => {
  const { content, sumGranted, sumHeld } = newContent();
  const piece = Buffer.alloc(16 * 1024, 'x');
  for (let count = 0; count < 16; count++) {
    content.receive(piece);
    content.deliver();
  }
  assert.deepEqual([sumHeld(), sumGranted()], [256 * 1024, 0]);
  content.receiveEnd();
  content.deliver();
  const all = await content.toArray();
  assert.equal(Buffer.concat(all).length, 256 * 1024);
  assert.deepEqual([sumHeld(), sumGranted()], [0, 256 * 1024]);
});

test('attack: frames of one byte each are passed on in few pieces', async () => {
  const { content } = newContent();
  const byte = Buffer.from('x');
  for (let count = 0; count < 10_000; count++) content.receive(byte);
  content.deliver();
  content.receiveEnd();
  content.deliver();
  const pieces = await content.toArray();
  assert.equal(Buffer.concat(pieces).length, 10_000);
  assert.ok(pieces.length <= 2, `${pieces.length} pieces`);
});

test('attack: a frame that arrives byte by byte lies there in few pieces while nobody reads it', async () => {
  const { content } = newContent();
  for (let count = 0; count < 10_000; count++) {
    content.receive(Buffer.from('x'));
    content.deliver();
    if (count % 100 === 0) await new Promise(setImmediate);
  }
  content.receiveEnd();
  content.deliver();
  const pieces: Buffer[] = [];
  content.on('data', (piece: Buffer) => pieces.push(piece));
  await once(content, 'end');
  assert.equal(Buffer.concat(pieces).length, 10_000);
  assert.ok(pieces.length < 100, `${pieces.length} pieces`);
});

test('what was gathered is not kept from its reader, whoever reads how', async () => {
  const ways: Readonly<Record<string, (content: RequestContent) => Promise<string>>> = {
    async flowing(content) {
      let text = '';
      content.on('data', (piece: Buffer) => {
        text += String(piece);
        // As a slow destination does.
        content.pause();
        setImmediate(() => content.resume());
      });
      await once(content, 'end');
      return text;
    },
    async iterating(content) {
      let text = '';
      for await (const piece of content) text += String(piece);
      return text;
    },
  };
  for (const [way, read] of Object.entries(ways)) {
    const { content } = newContent();
    const reading = read(content);
    for (let count = 0; count < 300; count++) {
      content.receive(Buffer.from(`${count},`));
      content.deliver();
      if (count % 3 === 0) await new Promise(setImmediate);
    }
    // All of it, before the end is known.
    const all = Array.from({ length: 300 }, (_, count) => `${count},`).join('');
    content.receiveEnd();
    content.deliver();
    assert.equal(await reading, all, way);
  }
});

test('content is dropped with its reader, and what arrives later', async () => {
  const { content, sumGranted, sumHeld } = newContent();
  content.receive(Buffer.from('early'));
  content.destroy();
  await once(content, 'close');
  content.receive(Buffer.from('late'));
  content.receiveEnd();
  content.deliver();
  assert.deepEqual([sumHeld(), sumGranted()], [0, 0]);
});
