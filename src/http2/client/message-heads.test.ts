import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Http2Error } from '../frames/frame.ts';
import { headSize, parseResponseLines, requestBlock } from '../frames/message-heads.ts';
import { HeaderDecoder } from '../hpack/header-decoder.ts';

const ok = [':status', '200'];

function assertMalformed(lines: readonly string[], isTrailers = false): void {
  assert.throws(
    () => parseResponseLines(lines, isTrailers),
    (error) => {
      assert.ok(error instanceof Http2Error);
      assert.equal(error.scope, 'stream');
      assert.equal(error.errorCode, 0x1);
      assert.ok(error.isInvalidResponse);
      // What a server wrote must not come into logs by way of a message.
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
