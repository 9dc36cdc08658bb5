import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { ClientWriter } from './client-writer.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function newClientSide() {
  const written: string[] = [];
  const writable = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.toString('latin1'));
      done();
    },
  });
  return { written, client: new ClientWriter(writable, { onFinished: () => {} }) };
}

test('an event of a watch is written at once', () => {
  const { written, client } = newClientSide();
  client.announce(undefined);
  client.lend(Buffer.from('event'));
  assert.deepEqual(written, ['event']);
});

test('the short beginning of a long response is written with what follows in the same turn', async () => {
  const { written, client } = newClientSide();
  client.announce(40_000);
  client.lend(Buffer.alloc(4_000, 'a'));
  client.lend(Buffer.alloc(16_000, 'b'));
  await turn();
  assert.deepEqual(written, ['a'.repeat(4_000) + 'b'.repeat(16_000)]);
  client.lend(Buffer.alloc(20_000, 'c'));
  client.end();
  assert.deepEqual(written.slice(1), ['c'.repeat(20_000)]);
});

test('a short response is not gathered', () => {
  const { written, client } = newClientSide();
  client.announce(5);
  client.lend(Buffer.from('short'));
  assert.deepEqual(written, ['short']);
});
