import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HeaderDecoder } from '../hpack/header-decoder.ts';
import { Http2Error } from './frame.ts';
import {
  checkTrailers,
  headSize,
  parseRequestHead,
  parseResponseLines,
  requestBlock,
  responseBlock,
  statusLine,
} from './message-heads.ts';

const ok = [':status', '200'];

function assertMalformed(lines: readonly string[], isTrailers = false): void {
  assert.throws(
    () => parseResponseLines(lines, isTrailers),
    (error) => {
      assert.ok(error instanceof Http2Error);
      assert.equal(error.scope, 'stream');
      assert.equal(error.errorCode, 0x1);
      assert.ok(error.isInvalidResponse);
      // Text that a server wrote must not come into logs by way of a message.
      assert.ok(!error.message.includes('secret'));
      return true;
    },
    JSON.stringify(lines),
  );
}

describe('a head', () => {
  test('is its status and its lines as they came, with empty values and several of one name', () => {
    const lines = ['x-empty', '', 'set-cookie', 'a', 'set-cookie', 'b', 'warning', '299 - "\xe9\tx"'];
    assert.deepEqual(parseResponseLines([...ok, ...lines], false), {
      status: 200,
      lines,
      contentLength: undefined,
    });
  });

  test('without a status, or with one that is none, is malformed', () => {
    assertMalformed([]);
    assertMalformed(['x-test', 'a']);
    for (const status of ['', '20', '2000', '099', '+20', '2e2', ' 200', '200 ', '200 OK', '-10', '٢٠٠']) {
      assertMalformed([':status', status]);
    }
  });

  test('with a pseudo-header field twice, late, or of a request is malformed', () => {
    assertMalformed([...ok, ...ok]);
    assertMalformed(['x-test', 'a', ...ok]);
    assertMalformed([...ok, 'x-test', 'a', ':status', '200']);
    assertMalformed([...ok, ':path', '/secret']);
    assertMalformed([':method', 'GET', ...ok]);
  });

  test('attack: names in upper case, empty, or with characters that no token has are malformed', () => {
    for (const name of [
      'X-Test',
      'x-Test',
      '',
      'x test',
      'x:test',
      'x\r\nsecret',
      'x\0',
      'x\xe9',
      'x"',
      'x\x7f',
    ]) {
      assertMalformed([...ok, name, 'a']);
    }
  });

  test('attack: what belongs to an HTTP/1.1 connection is malformed', () => {
    for (const name of ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']) {
      assertMalformed([...ok, name, 'close']);
    }
  });

  test('attack: CR, LF, NUL and other controls in a value are malformed, and so is space at its ends', () => {
    for (const value of [
      'a\r\nsecret: b',
      'a\nb',
      'a\rb',
      'a\0b',
      '\n',
      'a\x7f',
      'a\x1b[0m',
      'a\x08',
      ' a',
      'a ',
      '\ta',
      ' ',
    ]) {
      assertMalformed([...ok, 'x-test', value]);
    }
  });

  test('a name that was refused is refused again, and one that was taken is taken again', () => {
    for (let time = 0; time < 3; time++) {
      assertMalformed([...ok, 'X-Again', 'a']);
      assert.equal(parseResponseLines([...ok, 'x-again', 'a'], false).lines.length, 2);
    }
  });
});

describe('Content-Length', () => {
  test('is read', () => {
    for (const [text, length] of [
      ['0', 0],
      ['007', 7],
      ['1099511627776', 2 ** 40],
    ] as const) {
      assert.equal(parseResponseLines([...ok, 'content-length', text], false).contentLength, length);
    }
  });

  test('attack: several of them, alike or not, and what is no number are malformed', () => {
    assertMalformed([...ok, 'content-length', '1', 'content-length', '2']);
    assertMalformed([...ok, 'content-length', '1', 'content-length', '1']);
    for (const value of ['', '1, 1', '+1', '-1', '1.0', '0x1', '1e1', '9'.repeat(16)]) {
      assertMalformed([...ok, 'content-length', value]);
    }
  });
});

describe('trailers', () => {
  test('are judged as a head is, and dropped', () => {
    assert.deepEqual(parseResponseLines(['grpc-status', '0', 'content-length', '5'], true), {
      status: undefined,
      lines: [],
      contentLength: undefined,
    });
    assertMalformed(['X-Test', 'a'], true);
    assertMalformed(['x-test', 'a\nb'], true);
  });

  test('with a status are malformed', () => {
    assertMalformed(ok, true);
  });
});

function linesOf(method: string, target: string, headers: readonly string[]): string[] {
  const block = requestBlock(method, target, 'server:6443', headers);
  return new HeaderDecoder({ maximumLines: 100, maximumSize: 100_000 }).decode(Buffer.from(block, 'latin1'))
    .lines;
}

const pseudo = (method: string, target: string): string[] => [
  ...[':method', method, ':scheme', 'https'],
  ...[':authority', 'server:6443', ':path', target],
];

describe('the lines of a request', () => {
  test('begin with the four pseudo-header fields, and names are in lower case', () => {
    const target = '/api/v1/pods?labelSelector=a%2Cb';
    assert.deepEqual(
      linesOf('GET', target, ['X-Remote-Group', 'a,b', 'X-Remote-Group', '', 'accept', '*/*']),
      [...pseudo('GET', target), ...['x-remote-group', 'a,b', 'x-remote-group', '', 'accept', '*/*']],
    );
  });

  test('carry any method, and `*`', () => {
    for (const method of ['GET', 'POST', 'PATCH', 'DELETE', 'PROPFIND', 'get']) {
      assert.deepEqual(linesOf(method, '*', []), pseudo(method, '*'));
    }
  });

  test('keep values to the byte, those beyond ASCII among them', () => {
    const value = 'dn=\xfc\xff \t  x';
    assert.deepEqual(linesOf('GET', '/', ['x-test', value]).slice(-2), ['x-test', value]);
  });

  test('have no whitespace around a value, which servers take for malformed', () => {
    for (const [value, sent] of [
      [' a', 'a'],
      ['a\t', 'a'],
      ['\t a \t b \t', 'a \t b'],
      [' ', ''],
      ['\t \t', ''],
    ] as const) {
      assert.deepEqual(linesOf('GET', '/', ['x-test', value, 'x-last', '']).slice(-4), [
        'x-test',
        sent,
        'x-last',
        '',
      ]);
    }
  });

  test('attack: whitespace within a value, however long, costs no more than other bytes', () => {
    // With a regular expression that looks for whitespace at the end this takes minutes.
    const value = `a${' '.repeat(1_000_000)}a`;
    const block = requestBlock('GET', '/', 'server:6443', ['x-test', ` ${value}`]);
    assert.ok(block.endsWith(value));
  });

  test('name the destination as authority: Host and what belongs to the connection of the client stays here', () => {
    const left = [
      'Host',
      'Connection',
      'Keep-Alive',
      'Proxy-Connection',
      'Transfer-Encoding',
      'Upgrade',
      'HTTP2-Settings',
      'TE',
      'Expect',
    ];
    const headers = left.flatMap((name) => [name, 'x', name.toLowerCase(), 'x']);
    assert.deepEqual(linesOf('GET', '/', [...headers, 'last', 'one']), [
      ...pseudo('GET', '/'),
      'last',
      'one',
    ]);
  });

  test('attack: what would be another line or another request is refused, and not quoted', () => {
    const refused: readonly (readonly [string, string, readonly string[]])[] = [
      ['GET', '/', ['x-test', 'a\r\nsecret: b']],
      ['GET', '/', ['x-test', 'a\0secret']],
      ['GET', '/', ['x-test', 'secret\n']],
      ['GET', '/', ['x-test', 'secret€']],
      ['GET', '/', ['x\nsecret', 'a']],
      ['GET', '/', [':path', '/secret']],
      ['GET', '/', ['', 'secret']],
      ['GET', '/', ['x secret', 'a']],
      ['GET', '/ secret', []],
      ['GET', '/secret\r\n', []],
      ['GET', '/s\xe9cret', []],
      ['GET', '', []],
      ['GET secret', '/', []],
      ['', '/', []],
      ['G\nsecret', '/', []],
    ];
    for (const [method, target, headers] of refused) {
      assert.throws(
        () => requestBlock(method, target, 'server:6443', headers),
        (error) =>
          error instanceof Error &&
          'code' in error &&
          error.code === 'ERR_INVALID_CHAR' &&
          !error.message.includes('secret'),
        JSON.stringify([method, target, headers]),
      );
    }
  });
});

/** RFC 9113 section 6.5.2, line by line. */
function counted(lines: readonly (readonly [string, string])[]): number {
  return lines.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
}

test('a head counts as on the wire, pseudo-header fields and target with it', () => {
  const lines = [
    ['x-remote-group', 'dev'],
    ['x-remote-group', 'ops'],
  ] as const;
  const expected = counted([
    [':method', 'GET'],
    [':path', '/api'],
    [':scheme', 'https'],
    [':authority', '127.0.0.1:6443'],
    ...lines,
  ]);
  assert.equal(headSize('GET', '/api', '127.0.0.1:6443', lines.flat()), expected);
});

const method = [':method', 'GET'];
const scheme = [':scheme', 'https'];
const authority = [':authority', 'localhost:6443'];
const path = [':path', '/api/v1/pods?limit=500'];
const good = [...method, ...scheme, ...authority, ...path];

function assertMalformedRequest(lines: readonly string[]): void {
  assert.throws(
    () => parseRequestHead(lines),
    (error) => error instanceof Http2Error && error.scope === 'stream' && error.errorCode === 0x1,
    JSON.stringify(lines),
  );
}

test('method, target and header lines are read, whatever the order of the pseudo-header fields', () => {
  const lines = [...path, ...authority, ...scheme, ...method, 'accept', 'application/json', 'te', 'Trailers'];
  assert.deepEqual(parseRequestHead(lines), {
    method: 'GET',
    target: '/api/v1/pods?limit=500',
    authority: 'localhost:6443',
    headers: ['accept', 'application/json', 'te', 'Trailers'],
    contentLength: undefined,
    expectation: undefined,
  });
});

test('Content-Length and Expect are read, and cookies are joined into one line', () => {
  const more = ['cookie', 'a=1', 'content-length', '12', 'expect', '100-Continue', 'cookie', 'b=2'];
  const { headers, contentLength, expectation } = parseRequestHead([...good, ...more]);
  assert.equal(contentLength, 12);
  assert.equal(expectation, '100-continue');
  assert.deepEqual(headers, ['content-length', '12', 'expect', '100-Continue', 'cookie', 'a=1; b=2']);
});

test('Host replaces a missing :authority (RFC 9113 section 8.3.1)', () => {
  assert.equal(
    parseRequestHead([...method, ...scheme, ...path, 'host', '[::1]:6443']).authority,
    '[::1]:6443',
  );
  assert.equal(parseRequestHead([...good, 'host', 'other']).authority, 'localhost:6443');
});

test('OPTIONS may ask for the server itself, and CONNECT has an authority alone', () => {
  assert.equal(parseRequestHead([':method', 'OPTIONS', ...scheme, ...authority, ':path', '*']).target, '*');
  assert.equal(parseRequestHead([':method', 'CONNECT', ...authority]).method, 'CONNECT');
});

describe('attack: malformed (RFC 9113 sections 8.2 and 8.3)', () => {
  const vectors: Readonly<Record<string, readonly string[]>> = {
    'no lines': [],
    'no method': [...scheme, ...authority, ...path],
    'no scheme': [...method, ...authority, ...path],
    'no path': [...method, ...scheme, ...authority],
    'no authority and no Host': [...method, ...scheme, ...path],
    'a method that is no token': [':method', 'GE T', ...scheme, ...authority, ...path],
    'a scheme that is none': [...method, ':scheme', 'ht/tp', ...authority, ...path],
    'an empty path': [...method, ...scheme, ...authority, ':path', ''],
    'a path that does not begin with a slash': [...method, ...scheme, ...authority, ':path', 'api'],
    'a URL for a path': [...method, ...scheme, ...authority, ':path', 'https://localhost/api'],
    'a star for another method': [...method, ...scheme, ...authority, ':path', '*'],
    'a blank in a path': [...method, ...scheme, ...authority, ':path', '/a b'],
    'a line break in a path': [...method, ...scheme, ...authority, ':path', '/a\r\nx: y'],
    'a user in the authority': [...method, ...scheme, ':authority', 'root@localhost', ...path],
    'a path in the authority': [...method, ...scheme, ':authority', 'localhost/api', ...path],
    'a second method': [...good, ':method', 'DELETE'],
    'a second method in front': [':method', 'DELETE', ...good],
    'a second path in front': [...path, ...good],
    'a second scheme in front': [...scheme, ...good],
    'a second authority in front': [...authority, ...good],
    'a pseudo-header field of responses': [...good.slice(0, 6), ':status', '200', ...path],
    'an extended CONNECT, which was not offered': [...good.slice(0, 6), ':protocol', 'websocket', ...path],
    'a pseudo-header field behind a line': [...good.slice(0, 6), 'a', 'b', ...path],
    'CONNECT with a path': [':method', 'CONNECT', ...authority, ...path],
    'CONNECT without an authority': [':method', 'CONNECT'],
    'a name in upper case': [...good, 'X-Remote-User', 'root'],
    'an empty name': [...good, '', 'a'],
    'a name with a colon': [...good, 'x-remote-user: root', 'a'],
    'a name with a line break': [...good, 'a\r\nx-remote-user', 'root'],
    'a value with a line break': [...good, 'a', 'b\r\nx-remote-user: root'],
    'a value with NUL': [...good, 'a', 'b\0'],
    'a value with space in front': [...good, 'a', ' b'],
    'a value with a tab behind': [...good, 'a', 'b\t'],
    Connection: [...good, 'connection', 'close'],
    'Transfer-Encoding': [...good, 'transfer-encoding', 'chunked'],
    Upgrade: [...good, 'upgrade', 'h2c'],
    'Keep-Alive': [...good, 'keep-alive', '5'],
    'Proxy-Connection': [...good, 'proxy-connection', 'keep-alive'],
    'a TE other than trailers': [...good, 'te', 'trailers, gzip'],
    'two lengths': [...good, 'content-length', '5', 'content-length', '5'],
    'a length that is no number': [...good, 'content-length', '+5'],
    'a length of sixteen digits': [...good, 'content-length', '1000000000000000'],
    'two Hosts': [...good, 'host', 'a', 'host', 'a'],
    'a Host with a user': [...good, 'host', 'root@localhost'],
  };
  for (const [name, lines] of Object.entries(vectors)) test(name, () => assertMalformedRequest(lines));
});

test('attack: trailers with pseudo-header fields or invalid lines are malformed', () => {
  checkTrailers([]);
  checkTrailers(['x-checksum', 'abc']);
  for (const lines of [
    [':path', '/'],
    ['A', 'b'],
    ['a', 'b\r\nc: d'],
    ['connection', 'close'],
  ]) {
    assert.throws(() => checkTrailers(lines), Http2Error);
  }
});

const decoder = (): HeaderDecoder => new HeaderDecoder({ maximumLines: 1_000, maximumSize: 1_000_000 });
const decoded = (block: string): string[] => decoder().decode(Buffer.from(block, 'latin1')).lines;

test('a head has status and lines, names in lower case', () => {
  const lines = [
    'Content-Type',
    'application/json',
    'Audit-Id',
    'x',
    'X-Twice',
    '1',
    'x-twice',
    '2',
    'Date',
    'now',
  ];
  assert.deepEqual(decoded(responseBlock(200, lines)), [
    ...[':status', '200', 'content-type', 'application/json', 'audit-id', 'x'],
    ...['x-twice', '1', 'x-twice', '2', 'date', 'now'],
  ]);
  assert.deepEqual(decoded(responseBlock(422, ['date', ''])).slice(0, 2), [':status', '422']);
  assert.deepEqual(decoded(statusLine(100)), [':status', '100']);
});

test('a response without a date is given one (RFC 9110 section 6.6.1)', () => {
  const [, , name, date = ''] = decoded(responseBlock(200, []));
  assert.equal(name, 'date');
  assert.ok(Math.abs(Date.parse(date) - Date.now()) < 60_000, date);
});

test('connection-specific headers of HTTP/1.1 are left out (RFC 9113 section 8.2.2)', () => {
  const names = [
    'Connection',
    'Keep-Alive',
    'Proxy-Connection',
    'Transfer-Encoding',
    'Upgrade',
    'TE',
    'HTTP2-Settings',
  ];
  const lines = names.flatMap((name) => [name, 'x']);
  assert.deepEqual(decoded(responseBlock(200, [...lines, 'Date', 'now'])), [':status', '200', 'date', 'now']);
});

test('space around a value is no part of it (RFC 9113 section 8.2.1)', () => {
  assert.deepEqual(decoded(responseBlock(200, ['a', ' \tb c\t', 'date', 'now'])).slice(2, 4), ['a', 'b c']);
});

test('attack: a value with line breaks is not written (response splitting)', () => {
  for (const lines of [
    ['a', 'b\r\nset-cookie: x'],
    ['a', 'b\0'],
    ['a\r\nb', 'c'],
    ['a b', 'c'],
    ['', 'c'],
    [':status', '500'],
    ['a', 'beyond Latin-1: \u2713'],
  ]) {
    assert.throws(() => responseBlock(200, lines), TypeError, JSON.stringify(lines));
  }
  for (const status of [0, 99, 1_000, 200.5, Number.NaN])
    assert.throws(() => responseBlock(status, []), TypeError);
});

// A client's table may hold 4,096 bytes and more: what stands in it must not be reached from here.
test('header blocks do not depend on each other: nothing enters the dynamic table', () => {
  const block = Buffer.from(responseBlock(200, ['x-secret', 'value', 'date', 'now']), 'latin1');
  const one = decoder();
  const first = one.decode(block).lines;
  assert.deepEqual(one.decode(block).lines, first);
  assert.deepEqual(decoder().decode(block).lines, first);
  // Each literal is "never indexed" (RFC 7541 section 6.2.3): x-secret begins with 0x10.
  assert.ok(block.includes(Buffer.from('\x10\x08x-secret', 'latin1')));
});
