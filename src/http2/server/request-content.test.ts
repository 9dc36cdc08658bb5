import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { RequestContent } from './request-content.ts';

function newContent(): { content: RequestContent; granted: number[] } {
  const granted: number[] = [];
  return { content: new RequestContent((bytes) => granted.push(bytes)), granted };
}

test('content is copied, and granted again when it is passed on', async () => {
  const { content, granted } = newContent();
  const lent = Buffer.from('abc');
  content.receive(lent);
  lent.fill('x');
  content.receive(Buffer.from('def'));
  content.deliver();
  assert.deepEqual(granted, [6]);
  content.receiveEnd();
  content.deliver();
  assert.equal(Buffer.concat(await content.toArray()).toString(), 'abcdef');
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
  const { content, granted } = newContent();
  const piece = Buffer.alloc(16 * 1024, 'x');
  for (let count = 0; count < 16; count++) {
    content.receive(piece);
    content.deliver();
  }
  const ahead = granted.reduce((sum, bytes) => sum + bytes, 0);
  assert.equal(ahead, 64 * 1024);
  content.receiveEnd();
  content.deliver();
  const all = await content.toArray();
  assert.equal(Buffer.concat(all).length, 256 * 1024);
  assert.equal(
    granted.reduce((sum, bytes) => sum + bytes, 0),
    256 * 1024,
  );
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

test('content that arrives after the reader has gone is dropped', () => {
  const { content, granted } = newContent();
  content.destroy();
  content.receive(Buffer.from('late'));
  content.receiveEnd();
  content.deliver();
  assert.deepEqual(granted, []);
});
