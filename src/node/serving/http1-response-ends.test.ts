import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { announced, bytesOf, connected, dated } from '../../../test/support/http1-responses.ts';
import { readUntil } from '../../../test/support/tls-client.ts';

test('more than was announced breaks the connection: the client must not read it as the next response', async (context) => {
  for (const pieces of [['body', 'HTTP/1.1 200 OK\r\n\r\n'], ['body!'], ['b'.repeat(5_000)]]) {
    const bytes = await bytesOf(context, (response) => {
      response.start(200, 'OK', announced(4));
      for (const piece of pieces) response.write(Buffer.from(piece));
      response.end();
    });
    assert.doesNotMatch(bytes, /!|bb|HTTP.*HTTP/s);
  }
  for (const lengths of [[5_001], [5_000, 1], [4_999, 2]]) {
    const bytes = await bytesOf(context, (response) => {
      response.start(200, 'OK', announced(5_000));
      for (const length of lengths) response.write(Buffer.alloc(length, 'x'));
      response.end();
    });
    assert.ok(!bytes.includes('x'.repeat(5_001)), `${lengths}`);
  }
});

test('less than was announced breaks the connection: the client must not take a part for the whole', async (context) => {
  for (const length of [10, 10_000]) {
    const { client, response, told } = await connected(context);
    response.start(200, 'OK', announced(length));
    response.write(Buffer.from('part'.padStart(length - 1)));
    await readUntil(client, 'part');
    response.end();
    await eventually(() => client.readableEnded || client.destroyed);
    assert.equal(told.length, 0);
  }
});

test('a response that breaks off does not end in good order', async (context) => {
  const { client, response, told } = await connected(context);
  response.start(200, 'OK', dated);
  response.write(Buffer.from('part'));
  await readUntil(client, 'part');
  response.breakOff();
  assert.doesNotMatch(await text(client.setEncoding('latin1')), /0\r\n\r\n/);
  assert.equal(told.length, 0);
});

for (const [method, status, lines] of [
  ['HEAD', 200, announced(4)],
  ['HEAD', 200, dated],
  ['GET', 200, announced(0)],
  ['GET', 204, dated],
  ['GET', 205, dated],
  ['GET', 304, announced(4)],
] as const) {
  test(`an exchange is over at the late end of a response without content: ${method}, ${status}, ${lines.length} parts`, async (context) => {
    const { client, response, told } = await connected(context, { method });
    response.start(status, '', lines);
    await readUntil(client, '\r\n\r\n');
    assert.equal(told.length, 0);
    response.end();
    await eventually(() => told.includes('answered'));
  });
}

for (const framing of ['announced', 'chunked']) {
  test(`an exchange is over when the system has the last byte, not before: ${framing}`, async (context) => {
    const { client, response, told } = await connected(context);
    const length = 64 * 1024 * 1024;
    response.start(200, 'OK', framing === 'chunked' ? dated : announced(length));
    let left = length;
    const toldAtEnd = Promise.withResolvers<readonly string[]>();
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const goOn = (): void => {
      while (left > 0) {
        left -= chunk.length;
        if (!response.write(chunk) && left > 0) return;
      }
      response.end();
      toldAtEnd.resolve([...told]);
    };
    response.attach(goOn, () => {});
    goOn();
    // More than the buffers of both systems hold.
    assert.ok(left > 0);
    assert.equal(told.length, 0);
    let received = 0;
    client.on('data', (bytes: Buffer) => {
      received += bytes.length;
    });
    // A write is over in a later turn of the event loop, whoever reads.
    assert.deepEqual(await toldAtEnd.promise, []);
    await eventually(() => told.includes('answered'));
    await eventually(() => received > length);
  });
}
