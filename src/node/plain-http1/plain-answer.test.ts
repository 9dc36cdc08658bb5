import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { readUntil } from '../../../test/support/tls-client.ts';
import { type AnsweredExchange, PlainAnswer } from './plain-answer.ts';

interface Connected {
  /** The client's side. */
  readonly client: Socket;
  readonly answer: PlainAnswer;
  /** What the answer has told its exchange, in order. */
  readonly told: readonly string[];
}

async function connected(context: TestContext, { method = 'GET', isLast = false } = {}): Promise<Connected> {
  const server = createServer();
  context.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  context.after(() => client.destroy());
  client.on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [Socket];
  const told: string[] = [];
  const exchange: AnsweredExchange = {
    method,
    isLast,
    keepAliveSeconds: 90,
    begun: () => told.push('begun'),
    answered() {
      told.push('answered');
      socket.end();
    },
    onFinished: () => {},
  };
  return { client, answer: new PlainAnswer(socket, exchange), told };
}

/** What a client reads of one answer, to the end of its connection. */
async function bytesOf(
  context: TestContext,
  write: (answer: PlainAnswer) => void,
  options: { method?: string; isLast?: boolean } = {},
): Promise<string> {
  const { client, answer } = await connected(context, options);
  write(answer);
  return text(client.setEncoding('latin1'));
}

const dated = ['Date', 'Thu, 01 Jan 2026 00:00:00 GMT'];
const kept = 'Connection: keep-alive\r\nKeep-Alive: timeout=90\r\n';
const dateLine = 'Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n';
const announced = (length: number): string[] => [...dated, 'Content-Length', String(length)];

test('lines of an answer arrive as they came, with the connection’s own behind them', async (context) => {
  const bytes = await bytesOf(context, (answer) => {
    answer.start(201, 'Created', [...dated, 'x-a', 'é', 'X-A', '', 'Content-Length', '4']);
    answer.lend(Buffer.from('body'));
    answer.end();
  });
  const lines = `${dateLine}x-a: é\r\nX-A: \r\nContent-Length: 4\r\n`;
  assert.equal(bytes, `HTTP/1.1 201 Created\r\n${lines}${kept}\r\nbody`);
});

test('an answer without a date is given one, and the last one of a connection says so', async (context) => {
  const before = Math.floor(Date.now() / 1_000) * 1_000;
  const bytes = await bytesOf(
    context,
    (answer) => {
      answer.start(200, 'OK', ['Content-Length', '0']);
      answer.end();
    },
    { isLast: true },
  );
  const [, date = ''] = /\r\nDate: (.*)\r\nConnection: close\r\n\r\n$/.exec(bytes) ?? [];
  assert.ok(Date.parse(date) >= before && Date.parse(date) <= Date.now(), bytes);
});

test('a body whose length nobody announced is chunked, whatever its pieces', async (context) => {
  const large = 'x'.repeat(10_000);
  const bytes = await bytesOf(context, (answer) => {
    answer.start(200, 'OK', dated);
    answer.write(Buffer.from('one'));
    answer.write(Buffer.alloc(0));
    answer.write(Buffer.from(large));
    answer.write(Buffer.from('three'));
    answer.end();
  });
  const body = `3\r\none\r\n2710\r\n${large}\r\n5\r\nthree\r\n0\r\n\r\n`;
  assert.equal(bytes, `HTTP/1.1 200 OK\r\n${dateLine}${kept}Transfer-Encoding: chunked\r\n\r\n${body}`);
});

test('what is lent is somebody else’s afterwards, be it short or long, announced or not', async (context) => {
  for (const length of [1_000, 4_096, 4_097, 300_000]) {
    for (const lines of [announced(2 * length), dated]) {
      const bytes = await bytesOf(context, (answer) => {
        answer.start(200, 'OK', lines);
        for (const letter of ['Q', 'Z']) {
          const chunk = Buffer.alloc(length, letter);
          answer.lend(chunk);
          chunk.fill('-');
        }
        answer.end();
      });
      const body = bytes.slice(bytes.indexOf('\r\n\r\n') + 4);
      assert.equal(body.replaceAll(/[^QZ-]/g, ''), 'Q'.repeat(length) + 'Z'.repeat(length));
    }
  }
});

test('answers that have no content have none, whatever comes for them', async (context) => {
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
      (answer) => {
        answer.start(status, '', lines);
        answer.lend(Buffer.from('body'));
        answer.write(Buffer.from('body'));
        answer.end();
      },
      { method },
    );
    const [, ...rest] = bytes.split(dateLine);
    outcomes[`${method} ${status} ${lines.length}`] = rest.join('').replace(kept, '');
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
  const bytes = await bytesOf(context, (answer) => {
    const theirs = ['Connection', 'close', 'Keep-Alive', 'timeout=1', 'transfer-encoding', 'chunked'];
    answer.start(200, 'OK', [...announced(2), ...theirs, 'Upgrade', 'x', 'Proxy-Connection', 'close']);
    answer.lend(Buffer.from('ok'));
    answer.end();
  });
  assert.equal(bytes, `HTTP/1.1 200 OK\r\n${dateLine}Content-Length: 2\r\n${kept}\r\nok`);
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
  test(`an answer with ${what} is not begun, and another one can be`, async (context) => {
    const bytes = await bytesOf(context, (answer) => {
      assert.throws(() => answer.start(200, 'OK', [...dated, ...lines]), TypeError);
      answer.start(502, 'Bad Gateway', announced(0));
      answer.end();
    });
    assert.match(bytes, /^HTTP\/1\.1 502 Bad Gateway\r\nDate/);
  });
}

test('a reason phrase that could not be written is left out', async (context) => {
  const bytes = await bytesOf(context, (answer) => {
    answer.start(200, 'OK\r\nX: y', announced(0));
    answer.end();
  });
  assert.match(bytes, /^HTTP\/1\.1 200 \r\nDate/);
});

test('more than was announced breaks the connection: the client must not read it as the next answer', async (context) => {
  for (const pieces of [['body', 'HTTP/1.1 200 OK\r\n\r\n'], ['body!'], ['b'.repeat(5_000)]]) {
    const bytes = await bytesOf(context, (answer) => {
      answer.start(200, 'OK', announced(4));
      for (const piece of pieces) answer.write(Buffer.from(piece));
      answer.end();
    });
    assert.doesNotMatch(bytes, /!|bb|HTTP.*HTTP/s);
  }
});

test('less than was announced breaks the connection: the client must not take a part for the whole', async (context) => {
  const { client, answer, told } = await connected(context);
  answer.start(200, 'OK', announced(10));
  answer.write(Buffer.from('part'));
  await readUntil(client, 'part');
  answer.end();
  await eventually(() => client.readableEnded || client.destroyed);
  assert.deepEqual(told, ['begun']);
});

test('an answer that breaks off does not end in good order', async (context) => {
  const { client, answer, told } = await connected(context);
  answer.start(200, 'OK', dated);
  answer.write(Buffer.from('part'));
  await readUntil(client, 'part');
  answer.breakOff();
  assert.doesNotMatch(await text(client.setEncoding('latin1')), /0\r\n\r\n/);
  assert.deepEqual(told, ['begun']);
});

test('a head is sent before a body that is late, announced or not', async (context) => {
  for (const lines of [announced(4), dated]) {
    const { client, answer } = await connected(context);
    answer.start(200, 'OK', lines);
    assert.match(await readUntil(client, '\r\n\r\n'), /^HTTP\/1\.1 200 OK\r\n/);
    answer.write(Buffer.from('late'));
    await readUntil(client, 'late');
  }
});

for (const [method, status, lines] of [
  ['HEAD', 200, announced(4)],
  ['HEAD', 200, dated],
  ['GET', 200, announced(0)],
  ['GET', 204, dated],
  ['GET', 205, dated],
  ['GET', 304, announced(4)],
] as const) {
  test(`an exchange is over at the late end of an answer without content: ${method}, ${status}, ${lines.length} parts`, async (context) => {
    const { client, answer, told } = await connected(context, { method });
    answer.start(status, '', lines);
    await readUntil(client, '\r\n\r\n');
    assert.deepEqual(told, ['begun']);
    answer.end();
    await eventually(() => told.includes('answered'));
  });
}

test('an exchange is over when the client’s system has the last byte, not before', async (context) => {
  const { client, answer, told } = await connected(context);
  const length = 64 * 1024 * 1024;
  answer.start(200, 'OK', announced(length));
  let left = length;
  const drained = Promise.withResolvers<void>();
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  const goOn = (): void => {
    while (left > 0) {
      left -= chunk.length;
      if (!answer.write(chunk)) return;
    }
    drained.resolve();
  };
  answer.attach(goOn, () => {});
  goOn();
  // More than the buffers of both systems hold.
  assert.ok(left > 0);
  assert.deepEqual(told, ['begun']);
  let received = 0;
  client.on('data', (bytes: Buffer) => {
    received += bytes.length;
  });
  await drained.promise;
  answer.end();
  await eventually(() => told.includes('answered'));
  await eventually(() => received > length);
});
