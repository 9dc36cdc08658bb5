import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { readUntil } from '../../../test/support/clients/tls-client.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { Http1ResponseSink } from './http1-response-sink.ts';

interface Connected {
  /** The client's side. */
  readonly client: Socket;
  readonly response: Http1ResponseSink;
  /** The server's side. */
  readonly socket: Socket;
  /** 'answered' from when the system has the last byte on. */
  readonly told: readonly string[];
}

/** @param isLast whether the client asks for the end of the connection, by HTTP/1.1 */
async function connected(context: TestContext, { method = 'GET', isLast = true } = {}): Promise<Connected> {
  const server = createServer({ keepAliveTimeout: 90_000 });
  context.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  context.after(() => client.destroy());
  client.on('error', () => {});
  const last = isLast ? 'Connection: close\r\n' : '';
  client.write(`${method} / HTTP/1.1\r\nHost: a\r\n${last}\r\n`);
  const [incoming, outgoing] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  const { socket } = incoming;
  const told: string[] = [];
  outgoing.once('finish', () => told.push('answered'));
  return { client, socket, response: new Http1ResponseSink(outgoing, { onFinished: () => {} }), told };
}

/** Bytes that a client reads of one response, to the end of its connection. */
async function bytesOf(
  context: TestContext,
  write: (response: Http1ResponseSink) => void,
  options: { method?: string } = {},
): Promise<string> {
  const { client, response } = await connected(context, options);
  write(response);
  return text(client.setEncoding('latin1'));
}

const dated = ['Date', 'Thu, 01 Jan 2026 00:00:00 GMT'];
const ended = 'Connection: close\r\n';
const dateLine = 'Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n';
const announced = (length: number): string[] => [...dated, 'Content-Length', String(length)];

/** Head and body. */
function parted(bytes: string): [string, string] {
  const end = bytes.indexOf('\r\n\r\n');
  return [bytes.slice(0, end), bytes.slice(end + 4)];
}

/** The content of the chunks of a body (RFC 9112 section 7.1), whichever they are. */
function unchunked(body: string): string {
  let [content, at] = ['', 0];
  for (;;) {
    const lineEnd = body.indexOf('\r\n', at);
    const length = Number.parseInt(body.slice(at, lineEnd), 16);
    const end = lineEnd + 2 + length;
    assert.equal(body.slice(end, end + 2), '\r\n');
    if (length === 0) {
      assert.equal(body.length, end + 2);
      return content;
    }
    content += body.slice(lineEnd + 2, end);
    at = end + 2;
  }
}

test('lines of a response arrive as they came, with the connection’s own behind them', async (context) => {
  const bytes = await bytesOf(context, (response) => {
    response.respond(201, [...dated, 'x-a', 'é', 'X-A', '', 'Content-Length', '4'], 'Created');
    response.write(Buffer.from('body'));
    response.end();
  });
  const lines = `${dateLine}x-a: é\r\nX-A: \r\nContent-Length: 4\r\n`;
  assert.equal(bytes, `HTTP/1.1 201 Created\r\n${lines}${ended}\r\nbody`);
});

test('a response without a date is given one', async (context) => {
  const bytes = await bytesOf(context, (response) => {
    response.respond(200, ['Content-Length', '0']);
    response.end();
  });
  const [, date = ''] = /\r\nDate: (.*)\r\nConnection: close\r\n\r\n$/.exec(bytes) ?? [];
  // Node keeps the text for a second, and for longer on a busy machine.
  assert.ok(Math.abs(Date.parse(date) - Date.now()) < 60_000, bytes);
});

test('a connection that is kept says for how long', async (context) => {
  const { client, response } = await connected(context, { isLast: false });
  response.respond(200, announced(0));
  response.end();
  const head = await readUntil(client, '\r\n\r\n');
  assert.match(head, /\r\nConnection: keep-alive\r\nKeep-Alive: timeout=90\r\n\r\n$/);
});

test('a body whose length nobody announced is chunked, whatever its pieces', async (context) => {
  const large = 'x'.repeat(10_000);
  const bytes = await bytesOf(context, (response) => {
    response.respond(200, dated);
    response.write(Buffer.from('one'));
    response.write(Buffer.alloc(0));
    response.write(Buffer.from(large));
    response.write(Buffer.from('three'));
    response.end();
  });
  const [head, body] = parted(bytes);
  assert.equal(head, `HTTP/1.1 200 OK\r\n${dateLine}${ended}Transfer-Encoding: chunked`);
  assert.equal(unchunked(body), `one${large}three`);
});

test('what is lent is somebody else’s afterwards, be it short or long, announced or not', async (context) => {
  for (const length of [1_000, 4_096, 4_097, 300_000]) {
    for (const lines of [announced(2 * length), dated]) {
      const bytes = await bytesOf(context, (response) => {
        response.respond(200, lines);
        for (const letter of ['Q', 'Z']) {
          const chunk = Buffer.alloc(length, letter);
          response.write(chunk);
          chunk.fill('-');
        }
        response.end();
      });
      const body = bytes.slice(bytes.indexOf('\r\n\r\n') + 4);
      assert.equal(body.replaceAll(/[^QZ-]/g, ''), 'Q'.repeat(length) + 'Z'.repeat(length));
    }
  }
});

test('a long body of pieces large and small is framed piece by piece', async (context) => {
  const pieces = [16_384, 300, 1, 140_000, 4_096, 4_097].map((length, index) =>
    String.fromCharCode(0x61 + index).repeat(length),
  );
  const body = pieces.join('');
  for (const framing of ['chunked', 'announced']) {
    const bytes = await bytesOf(context, (response) => {
      response.respond(200, framing === 'chunked' ? dated : announced(body.length));
      for (const piece of pieces) {
        response.write(Buffer.from(piece));
        // A chunk of nothing would be the end.
        response.write(Buffer.alloc(0));
      }
      response.end();
    });
    const [, received] = parted(bytes);
    assert.equal(framing === 'chunked' ? unchunked(received) : received, body);
  }
});

test('responses that have no content have none, whatever comes for them', async (context) => {
  const outcomes: Record<string, string> = {};
  for (const [method, status, lines] of [
    ['HEAD', 200, announced(4)],
    ['HEAD', 200, dated],
    ['HEAD', 205, dated],
    ['GET', 204, announced(4)],
    ['GET', 304, announced(4)],
    ['GET', 205, announced(4)],
  ] as const) {
    const bytes = await bytesOf(
      context,
      (response) => {
        response.respond(status, lines);
        response.write(Buffer.from('body'));
        response.write(Buffer.from('body'));
        response.end();
      },
      { method },
    );
    const [, ...rest] = bytes.split(dateLine);
    outcomes[`${method} ${status} ${lines.length}`] = rest.join('').replace(ended, '');
  }
  assert.deepEqual(outcomes, {
    'HEAD 200 4': 'Content-Length: 4\r\n\r\n',
    'HEAD 200 2': '\r\n',
    'HEAD 205 2': '\r\n',
    'GET 204 4': '\r\n',
    'GET 304 4': 'Content-Length: 4\r\n\r\n',
    // Clients look for an end there.
    'GET 205 4': 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  });
});

test('what belongs to the server’s connection does not reach the client’s', async (context) => {
  const bytes = await bytesOf(context, (response) => {
    const theirs = ['Connection', 'close', 'Keep-Alive', 'timeout=1', 'transfer-encoding', 'chunked'];
    response.respond(200, [...announced(2), ...theirs, 'Upgrade', 'x', 'Proxy-Connection', 'close']);
    response.write(Buffer.from('ok'));
    response.end();
  });
  assert.equal(bytes, `HTTP/1.1 200 OK\r\n${dateLine}Content-Length: 2\r\n${ended}\r\nok`);
});

for (const [what, lines] of Object.entries({
  'a line break in a value': ['X', 'a\r\nSet-Cookie: b'],
  'LF alone in a value': ['X', 'a\nb'],
  'NUL in a value': ['X', 'a\0'],
  'a character beyond a byte in a value': ['X', '\u{1f600}'],
  'a line break in a name': ['X: a\r\nY', 'b'],
  'a space in a name': ['X ', 'a'],
  'an empty name': ['', 'a'],
  'two lengths': ['Content-Length', '4', 'content-length', '4'],
  'a length that is no number': ['Content-Length', '4, 4'],
  'a length with a sign': ['Content-Length', '+4'],
})) {
  test(`a response with ${what} is not begun, and another one can be`, async (context) => {
    const bytes = await bytesOf(context, (response) => {
      assert.throws(() => response.respond(200, [...dated, ...lines]), TypeError);
      response.respond(502, announced(0), 'Bad Gateway');
      response.end();
    });
    assert.match(bytes, /^HTTP\/1\.1 502 Bad Gateway\r\nDate/);
  });
}

test('a reason phrase that could not be written makes room for the standard one', async (context) => {
  const bytes = await bytesOf(context, (response) => {
    response.respond(200, announced(0), 'OK\r\nX: y');
    response.end();
  });
  assert.match(bytes, /^HTTP\/1\.1 200 OK\r\nDate/);
});

test('a head is sent before a body that is late, announced or not', async (context) => {
  for (const lines of [announced(4), dated]) {
    const { client, response } = await connected(context);
    response.respond(200, lines);
    assert.match(await readUntil(client, '\r\n\r\n'), /^HTTP\/1\.1 200 OK\r\n/);
    response.write(Buffer.from('late'));
    await readUntil(client, 'late');
  }
});

test('more than was announced breaks the connection: the client must not read it as the next response', async (context) => {
  for (const pieces of [['body', 'HTTP/1.1 200 OK\r\n\r\n'], ['body!'], ['b'.repeat(5_000)]]) {
    const bytes = await bytesOf(context, (response) => {
      response.respond(200, announced(4));
      for (const piece of pieces) response.write(Buffer.from(piece));
      response.end();
    });
    assert.doesNotMatch(bytes, /!|bb|HTTP.*HTTP/s);
  }
  for (const lengths of [[5_001], [5_000, 1], [4_999, 2]]) {
    const bytes = await bytesOf(context, (response) => {
      response.respond(200, announced(5_000));
      for (const length of lengths) response.write(Buffer.alloc(length, 'x'));
      response.end();
    });
    assert.ok(!bytes.includes('x'.repeat(5_001)), `${lengths}`);
  }
});

test('less than was announced breaks the connection: the client must not take a part for the whole', async (context) => {
  for (const length of [10, 10_000]) {
    const { client, response, told } = await connected(context);
    response.respond(200, announced(length));
    response.write(Buffer.from('part'.padStart(length - 1)));
    await readUntil(client, 'part');
    response.end();
    await eventually(() => client.readableEnded || client.destroyed);
    assert.equal(told.length, 0);
  }
});

test('a response that breaks off does not end in good order', async (context) => {
  const { client, response, told } = await connected(context);
  response.respond(200, dated);
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
    response.respond(status, lines);
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
    response.respond(200, framing === 'chunked' ? dated : announced(length));
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
    response.attach({ onRoom: goOn, onGone: () => {} });
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

/** The lines of a head whose body has so many bytes. */
const head = (length: number): string[] => ['Content-Length', String(length)];
const headAndBody = (bytes: string): string[] => bytes.split('\r\n\r\n');

test('a body that comes whole arrives byte for byte', async (context) => {
  const body = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const bytes = await bytesOf(context, (response) => {
    response.respond(200, head(256));
    response.write(body);
    // Bytes that were lent are somebody else's from here on.
    body.fill(0);
    response.end();
  });
  const expected = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  assert.equal(bytes.slice(bytes.indexOf('\r\n\r\n') + 4), expected.toString('latin1'));
});

test('a body that comes whole is lent as plain bytes, too, and from the middle of a buffer', async (context) => {
  const shared = new Uint8Array(Buffer.from('before whole behind'));
  const bytes = await bytesOf(context, (response) => {
    response.respond(200, head(5));
    response.write(shared.subarray(7, 12));
    response.end();
  });
  assert.equal(headAndBody(bytes)[1], 'whole');
});

test('nothing arrives of a response that is given up while its body is held', async (context) => {
  const bytes = await bytesOf(context, (response) => {
    response.respond(200, head(5));
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
      response.respond(status, head(5));
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
  response.respond(200, headers);
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
