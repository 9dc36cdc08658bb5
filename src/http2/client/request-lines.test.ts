import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HeaderDecoder } from '../hpack/header-decoder.ts';
import { headSize, requestBlock } from './message-heads.ts';

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
