import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { Http1ResponseSink } from './http1-response-sink.ts';

/** What a client reads of one response, to the end of its connection. */
async function bytesOf(context: TestContext, write: (response: Http1ResponseSink) => void): Promise<string> {
  const server = createServer((_incoming, outgoing: ServerResponse) => {
    write(new Http1ResponseSink(outgoing, { onFinished: () => {} }));
  });
  context.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  return text(socket.setEncoding('latin1'));
}

const head = (length: number): string[] => ['Content-Length', String(length)];
const headAndBody = (bytes: string): string[] => bytes.split('\r\n\r\n');

test('a body that comes whole arrives byte for byte', async (context) => {
  const body = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const bytes = await bytesOf(context, (response) => {
    response.start(200, 'OK', head(256));
    response.write(body);
    // What was lent is somebody else's from here on.
    body.fill(0);
    response.end();
  });
  const expected = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  assert.equal(bytes.slice(bytes.indexOf('\r\n\r\n') + 4), expected.toString('latin1'));
});

test('a body that comes whole is lent as plain bytes, too, and from the middle of a buffer', async (context) => {
  const shared = new Uint8Array(Buffer.from('before whole behind'));
  const bytes = await bytesOf(context, (response) => {
    response.start(200, 'OK', head(5));
    response.write(shared.subarray(7, 12));
    response.end();
  });
  assert.equal(headAndBody(bytes)[1], 'whole');
});

test('nothing arrives of a response that is given up while its body is held', async (context) => {
  const bytes = await bytesOf(context, (response) => {
    response.start(200, 'OK', head(5));
    response.write(Buffer.from('whole'));
    response.release();
    response.breakOff();
    response.flush();
  });
  assert.equal(bytes, '');
});

for (const status of [204, 304]) {
  test(`a ${status} has no body, whatever it announces`, async (context) => {
    const bytes = await bytesOf(context, (response) => {
      response.start(status, '', head(5));
      response.write(Buffer.from('whole'));
      response.end();
    });
    assert.equal(headAndBody(bytes)[1], '');
  });
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A response whose body is noted piece by piece, as it is written. */
function noted(context: TestContext, headers: string[]) {
  const outgoing = new ServerResponse(new IncomingMessage(new Socket()));
  const written: string[] = [];
  context.mock.method(outgoing, 'write', (chunk: Buffer, onWritten: () => void = () => {}) => {
    written.push(chunk.toString('latin1'));
    process.nextTick(onWritten);
    return true;
  });
  const response = new Http1ResponseSink(outgoing, { onFinished: () => {} });
  response.start(200, 'OK', headers);
  return { written, response };
}

test('an event of a watch is written at once', (context) => {
  const { written, response } = noted(context, []);
  response.write(Buffer.from('event'));
  assert.deepEqual(written, ['event']);
});

test('the short beginning of a long response is written with what follows in the same turn', async (context) => {
  const { written, response } = noted(context, head(40_000));
  response.write(Buffer.alloc(4_000, 'a'));
  response.write(Buffer.alloc(16_000, 'b'));
  await turn();
  assert.deepEqual(written, ['a'.repeat(4_000) + 'b'.repeat(16_000)]);
  response.write(Buffer.alloc(20_000, 'c'));
  response.end();
  assert.deepEqual(written.slice(1), ['c'.repeat(20_000)]);
});

test('a short response is not gathered', (context) => {
  const { written, response } = noted(context, head(10));
  response.write(Buffer.from('short'));
  assert.deepEqual(written, ['short']);
});
