import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Http2Error } from '../frames/http2-error.ts';
import { parseResponseLines } from './message-heads.ts';

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
