import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { destinationAt, outboundTo } from '../../test/support/node-exchange.ts';
import { http1RequestHead } from './http1-request-head.ts';

const headOf = (target: string, headers: readonly string[] = []) =>
  http1RequestHead(outboundTo(destinationAt('https://10.0.0.1:6443'), { target, headers }), '10.0.0.1:6443');

describe('the head of a read over HTTP/1.1', () => {
  test('names the destination, and keeps target and lines as they are', () => {
    assert.equal(
      headOf('/api/v1/pods?a=%2F;b', [
        'host',
        'evil',
        'X-Remote-Group',
        'a,b',
        'X-Remote-Group',
        'c',
        'te',
        'x',
      ]),
      'GET /api/v1/pods?a=%2F;b HTTP/1.1\r\nHost: 10.0.0.1:6443\r\nX-Remote-Group: a,b\r\nX-Remote-Group: c\r\n\r\n',
    );
  });

  for (const [attack, target, headers] of [
    ['a line break in a value', '/x', ['A', 'b\r\nX-Remote-User: admin']],
    ['a line break in a name', '/x', ['A\r\nX-Remote-User', 'admin']],
    ['a NUL in a value', '/x', ['A', 'b\0']],
    [
      'a character that is no byte and would be cut down to a line feed',
      '/x',
      ['A', 'b\u010aX-Remote-User: admin'],
    ],
    ['a space in the target', '/x HTTP/1.1', []],
    ['a line break in the target', '/x\r\nA: b', []],
    ['an absolute target', 'https://evil/', []],
    ['a length where there is no body', '/x', ['Content-Length', '5']],
  ] as const) {
    test(`attack: ${attack} is not written`, () => assert.equal(headOf(target, headers), undefined));
  }
});
