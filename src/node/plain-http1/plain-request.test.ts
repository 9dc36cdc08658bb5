import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { duplexPair } from 'node:stream';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { mutated } from '../../../test/fuzz/mutation.ts';
import { requestsIn } from '../../../test/fuzz/strict-http1.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { framingVectors, smuggled } from '../../../test/support/security/smuggling-vectors.ts';
import { maximumHeaderBytes, maximumHeaderLines } from '../server-limits.ts';
import { type PlainRequest, PlainRequestReader } from './plain-request.ts';

const read = (bytes: string): PlainRequest | undefined =>
  new PlainRequestReader().read(Buffer.from(bytes, 'latin1'));
const request = (lines: readonly string[], body = ''): string => [...lines, '', body].join('\r\n');
const get = (...lines: string[]): string => request(['GET /api/v1/pods HTTP/1.1', 'Host: a', ...lines]);

describe('a plain request', () => {
  test('is taken with its lines as they stood on the wire', () => {
    const lines = [
      'Host: localhost:6443',
      'Accept: a, b',
      'accept:c',
      'X-Empty:',
      'X-Text: \t two  words\t ',
    ];
    assert.deepEqual(read(request(['GET /api/v1/pods?watch=1&a=%2F HTTP/1.1', ...lines, 'X-Bytes: é'])), {
      method: 'GET',
      target: '/api/v1/pods?watch=1&a=%2F',
      headers: [
        ...['Host', 'localhost:6443', 'Accept', 'a, b', 'accept', 'c', 'X-Empty', ''],
        ...['X-Text', 'two  words', 'X-Bytes', 'é'],
      ],
      body: undefined,
      isLast: false,
    });
  });

  test('is taken with its body, which may hold any bytes', () => {
    const body = 'a\r\n\r\nGET / HTTP/1.1\r\n\r\n\0\xff';
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const taken = read(
        request([`${method} /a HTTP/1.1`, 'Host: a', `Content-Length: ${body.length}`], body),
      );
      assert.equal(Buffer.from(taken?.body ?? []).toString('latin1'), body);
    }
  });

  test('may say that it has no body', () => {
    assert.equal(read(request(['DELETE /a HTTP/1.1', 'Host: a', 'Content-Length: 0']))?.body, undefined);
    assert.notEqual(read(request(['DELETE /a HTTP/1.1', 'Host: a'])), undefined);
  });

  test('may ask to keep the connection, or to end it', () => {
    assert.equal(read(get('Connection: keep-alive'))?.isLast, false);
    assert.equal(read(get('connection: Close'))?.isLast, true);
    assert.equal(read(get('Connection: close', 'Connection: keep-alive'))?.isLast, true);
  });

  test('has a head of up to 16 KiB', () => {
    const withHead = (bytes: number): string => get(`X: ${'x'.repeat(bytes - get('X: ').length + 4)}`);
    assert.notEqual(read(withHead(16 * 1024)), undefined);
    assert.equal(read(withHead(16 * 1024 + 1)), undefined);
  });
});

describe('left to Node’s parser, whole, is', () => {
  const left: Record<string, string> = {
    nothing: '',
    'half a request line': 'GET /a HT',
    'a head without its end': 'GET /a HTTP/1.1\r\nHost: a\r\n',
    'a head whose end is cut': 'GET /a HTTP/1.1\r\nHost: a\r\n\r',
    'a request behind an empty line': `\r\n${get()}`,
    'a request with another one behind it': get() + get(),
    'a request with the beginning of another one': `${get()}G`,
    'a request with a line end behind it': `${get()}\r\n`,
    'a body that is not whole': request(['POST /a HTTP/1.1', 'Host: a', 'Content-Length: 5'], 'four'),
    'a body with something behind it': request(['POST /a HTTP/1.1', 'Host: a', 'Content-Length: 4'], 'fourG'),
    'a body that no line announces': request(['POST /a HTTP/1.1', 'Host: a'], 'four'),
    'a body of GET': request(['GET /a HTTP/1.1', 'Host: a', 'Content-Length: 4'], 'four'),
    'an announcement of no body of GET': request(['GET /a HTTP/1.1', 'Host: a', 'Content-Length: 0']),
    'HTTP/1.0': request(['GET /a HTTP/1.0', 'Host: a']),
    'HTTP/0.9': 'GET /a\r\n\r\n',
    'HTTP/2 without TLS’s consent': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'another method': request(['OPTIONS /a HTTP/1.1', 'Host: a']),
    'a method in lower case': request(['get /a HTTP/1.1', 'Host: a']),
    CONNECT: request(['CONNECT a:443 HTTP/1.1', 'Host: a:443']),
    'an absolute target': request(['GET https://a/b HTTP/1.1', 'Host: a']),
    'the asterisk for a target': request(['DELETE * HTTP/1.1', 'Host: a']),
    'bytes beyond ASCII in the target': request(['GET /é HTTP/1.1', 'Host: a']),
    'a space in the target': request(['GET /a b HTTP/1.1', 'Host: a']),
    'a tab behind the method': request(['GET\t/a HTTP/1.1', 'Host: a']),
    'a space behind the version': request(['GET /a HTTP/1.1 ', 'Host: a']),
    'no Host': request(['GET /a HTTP/1.1', 'Accept: a']),
    'no line at all': 'GET /a HTTP/1.1\r\n\r\n',
    'two Hosts': get('Host: b'),
    'a Host with a path': request(['GET /a HTTP/1.1', 'Host: a/b']),
    'a line end of LF alone': 'GET /a HTTP/1.1\nHost: a\n\n',
    'LF alone between two lines': request(['GET /a HTTP/1.1', 'Host: a\nX-Remote-User: root']),
    'CR alone in a value': get('X: a\rX-Remote-User: root'),
    'a folded line': get('X: a', ' b'),
    'a space before a colon': get('X : a'),
    'a space before a name': get(' X: a'),
    'a line without a colon': get('X'),
    'a line without a name': get(': a'),
    'a name that is no token': get('X(): a'),
    'NUL in a value': get('X: a\0b'),
    'a control character in a value': get('X: a\x07'),
    'an expectation': get('Expect: 100-continue'),
    'an upgrade': get('Connection: Upgrade', 'Upgrade: websocket'),
    'an upgrade that Connection does not name': get('Upgrade: h2c'),
    'a line that Connection names': get('Connection: X-Remote-User', 'X-Remote-User: root'),
    'several options of Connection': get('Connection: keep-alive, close'),
    'settings for HTTP/2': get('HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA'),
    'an announcement of trailers': get('Trailer: X'),
    'a transfer coding': request(['POST /a HTTP/1.1', 'Host: a', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
    'an empty transfer coding': get('Transfer-Encoding:'),
    'a length and a transfer coding': request(
      ['POST /a HTTP/1.1', 'Host: a', 'Content-Length: 5', 'Transfer-Encoding: chunked'],
      '0\r\n\r\n',
    ),
  };
  for (const [what, bytes] of Object.entries(left)) {
    test(what, () => assert.equal(read(bytes), undefined));
  }

  for (const length of ['+4', '04', '4, 4', '4;', '0x4', '4.0', '', '-4', '1e1', '٤', '9999999999']) {
    test(`a length of ${JSON.stringify(length)}`, () => {
      const bytes = request(['POST /a HTTP/1.1', 'Host: a', `Content-Length: ${length}`], 'four');
      assert.equal(read(bytes), undefined);
    });
  }

  test('two lengths, also where they are the same', () => {
    for (const second of ['4', '5']) {
      const lines = ['POST /a HTTP/1.1', 'Host: a', 'Content-Length: 4', `content-length: ${second}`];
      assert.equal(read(request(lines, 'four')), undefined);
    }
  });

  for (const { name, bytes } of framingVectors) {
    test(`${name}, alone and with a request behind it`, () => {
      assert.equal(read(bytes), undefined);
      assert.equal(read(bytes + smuggled), undefined);
    });
  }
});

describe('behind another request of the connection', () => {
  const reader = new PlainRequestReader();
  const next = (bytes: string): PlainRequest | undefined => reader.read(Buffer.from(bytes, 'latin1'));

  test('the same lines are not read again, other ones are', () => {
    const first = next(get('X: 1'));
    const second = next(request(['DELETE /b HTTP/1.1', 'Host: a', 'X: 1']));
    assert.deepEqual([second?.method, second?.target], ['DELETE', '/b']);
    assert.equal(second?.headers, first?.headers);
    assert.deepEqual(next(get('X: 2'))?.headers, ['Host', 'a', 'X', '2']);
  });

  test('the same lines announce the same length, and are held to it', () => {
    const lines = ['Host: a', 'Content-Length: 4'];
    const post = 'POST /a HTTP/1.1';
    assert.equal(Buffer.from(next(request([post, ...lines], 'four'))?.body ?? []).toString(), 'four');
    assert.equal(Buffer.from(next(request([post, ...lines], 'more'))?.body ?? []).toString(), 'more');
    assert.equal(next(request([post, ...lines], 'three')), undefined);
    assert.equal(next(request(['GET /a HTTP/1.1', ...lines], 'four')), undefined);
  });

  test('lines of more than 4 KiB are read each time: an idle connection does not hold them', () => {
    const long = `X: ${'x'.repeat(4 * 1024)}`;
    const [first, second] = [next(get(long)), next(get(long))];
    assert.deepEqual(second, first);
    assert.notEqual(second?.headers, first?.headers);
  });

  test('what was refused is not remembered', () => {
    const bad = get('X : 1');
    assert.equal(next(bad), undefined);
    assert.equal(next(bad), undefined);
    assert.notEqual(next(get('X: 1')), undefined);
  });
});

/** What Node's parser, set as the router's, makes of the bytes. */
async function readByNode(bytes: string) {
  const requests: { method?: string; target?: string; headers: string[]; body: string }[] = [];
  let fault: unknown;
  const options = { maxHeaderSize: maximumHeaderBytes, requireHostHeader: false };
  const server = createServer(options, async (incoming, outgoing) => {
    const { method = '', url: target = '', rawHeaders: headers } = incoming;
    const body = Buffer.concat(await incoming.toArray()).toString('latin1');
    requests.push({ method, target, headers, body });
    outgoing.end();
  });
  server.maxHeadersCount = maximumHeaderLines;
  server.on('clientError', (error) => {
    fault = error;
  });
  const [client, socket] = duplexPair();
  server.emit('connection', socket);
  client.resume();
  client.write(Buffer.from(bytes, 'latin1'));
  await eventually(() => requests.length > 0 || fault !== undefined);
  // What else stood in the bytes would be read by now.
  await setImmediate();
  await setImmediate();
  client.destroy();
  return { requests, fault };
}

const recorded = JSON.parse(
  readFileSync(new URL('../../../test/fixtures/kubectl-requests.json', import.meta.url), 'utf8'),
) as readonly {
  readonly requests: readonly { method: string; url: string; headers: Record<string, string> }[];
}[];

/** What kubectl has sent, with bodies that look like requests. */
const seeds = recorded
  .flatMap(({ requests }) => requests)
  .map(({ method, url, headers }) => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const start = [`${method} ${url} HTTP/1.1`, 'Host: localhost', ...lines];
    if (method === 'GET') return request(start);
    return request([...start, `Content-Length: ${smuggled.length}`], smuggled);
  });

/** Where readers of HTTP/1.1 have been set against each other. */
const pieces = [
  ...['\r\n', '\n', '\r', '\0', ' ', '\t', ':', ',', ';', '\r\n\r\n', '\x0b', '\xa0', '\x85', '\x7f', 'é'],
  ...['Content-Length: 0\r\n', 'Content-Length: 5\r\n', 'content-length:\t5 \r\n', 'Content-Length : 5\r\n'],
  ...['Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: x\r\n', 'Connection: close\r\n', 'Expect: x\r\n'],
  ...['Connection: keep-alive\r\n', 'X-Remote-User: root\r\n', ' folded\r\n', 'Host: evil\r\n', 'X:\r\n'],
];

test('what is taken at all, Node’s parser and a strict one read in the same way: one request, and nothing else', async () => {
  let taken = 0;
  const bytesOf = mutated(fc.constantFrom(...seeds), pieces);
  await fc.assert(
    fc.asyncProperty(bytesOf, async (bytes) => {
      const plain = read(bytes);
      if (plain === undefined) return;
      taken++;
      const { method, target, headers } = plain;
      const body = Buffer.from(plain.body ?? []).toString('latin1');
      const { requests, fault } = await readByNode(bytes);
      assert.equal(fault, undefined);
      assert.deepEqual(requests, [{ method, target, headers, body }]);
      assert.deepEqual(requestsIn(bytes), [{ method, target, body, complete: true }]);
    }),
    { numRuns: 600 },
  );
  // Else the property would say nothing.
  assert.ok(taken > 30, `${taken} were taken`);
});
