import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  announced,
  bytesOf,
  connected,
  dated,
  dateLine,
  ended,
} from '../../../test/support/http1-responses.ts';
import { readUntil } from '../../../test/support/tls-client.ts';

/** Head and body. */
function parted(bytes: string): [string, string] {
  const end = bytes.indexOf('\r\n\r\n');
  return [bytes.slice(0, end), bytes.slice(end + 4)];
}

/** What stands in the chunks of a body (RFC 9112 section 7.1), whichever they are. */
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
    response.start(201, 'Created', [...dated, 'x-a', 'é', 'X-A', '', 'Content-Length', '4']);
    response.write(Buffer.from('body'));
    response.end();
  });
  const lines = `${dateLine}x-a: é\r\nX-A: \r\nContent-Length: 4\r\n`;
  assert.equal(bytes, `HTTP/1.1 201 Created\r\n${lines}${ended}\r\nbody`);
});

test('a response without a date is given one', async (context) => {
  const before = Math.floor(Date.now() / 1_000) * 1_000;
  const bytes = await bytesOf(context, (response) => {
    response.start(200, 'OK', ['Content-Length', '0']);
    response.end();
  });
  const [, date = ''] = /\r\nDate: (.*)\r\nConnection: close\r\n\r\n$/.exec(bytes) ?? [];
  assert.ok(Date.parse(date) >= before && Date.parse(date) <= Date.now(), bytes);
});

test('a connection that is kept says for how long', async (context) => {
  const { client, response } = await connected(context, { isLast: false });
  response.start(200, 'OK', announced(0));
  response.end();
  const head = await readUntil(client, '\r\n\r\n');
  assert.match(head, /\r\nConnection: keep-alive\r\nKeep-Alive: timeout=90\r\n\r\n$/);
});

test('a body whose length nobody announced is chunked, whatever its pieces', async (context) => {
  const large = 'x'.repeat(10_000);
  const bytes = await bytesOf(context, (response) => {
    response.start(200, 'OK', dated);
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
        response.start(200, 'OK', lines);
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
      response.start(200, 'OK', framing === 'chunked' ? dated : announced(body.length));
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
        response.start(status, '', lines);
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
    response.start(200, 'OK', [...announced(2), ...theirs, 'Upgrade', 'x', 'Proxy-Connection', 'close']);
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
      assert.throws(() => response.start(200, 'OK', [...dated, ...lines]), TypeError);
      response.start(502, 'Bad Gateway', announced(0));
      response.end();
    });
    assert.match(bytes, /^HTTP\/1\.1 502 Bad Gateway\r\nDate/);
  });
}

test('a reason phrase that could not be written makes room for the standard one', async (context) => {
  const bytes = await bytesOf(context, (response) => {
    response.start(200, 'OK\r\nX: y', announced(0));
    response.end();
  });
  assert.match(bytes, /^HTTP\/1\.1 200 OK\r\nDate/);
});

test('a head is sent before a body that is late, announced or not', async (context) => {
  for (const lines of [announced(4), dated]) {
    const { client, response } = await connected(context);
    response.start(200, 'OK', lines);
    assert.match(await readUntil(client, '\r\n\r\n'), /^HTTP\/1\.1 200 OK\r\n/);
    response.write(Buffer.from('late'));
    await readUntil(client, 'late');
  }
});
