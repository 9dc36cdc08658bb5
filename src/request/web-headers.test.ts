import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webHeaders } from './web-headers.ts';

test('writes exactly the lines that are asked for', () => {
  const original = new Headers({ accept: 'a', connection: 'close', 'x-changed': '1' });
  const headers = webHeaders(['Accept', 'a', 'X-Changed', '2', 'X-New', '1', 'X-New', '2'], original);
  assert.deepEqual(
    [...headers],
    [
      ['accept', 'a'],
      ['x-changed', '2'],
      ['x-new', '1, 2'],
    ],
  );
  assert.deepEqual([...webHeaders([], undefined)], []);
});

test('takes over what is unchanged, and never an identity', (context) => {
  const original = new Headers({ 'impersonate-group': 'a, b', 'x-remote-group': 'a, b' });
  const append = context.mock.method(Headers.prototype, 'append');
  webHeaders(['impersonate-group', 'a, b', 'X-Remote-Group', 'a, b'], original);
  assert.deepEqual(
    append.mock.calls.map((call) => call.arguments[0]),
    ['x-remote-group'],
  );
});

test('keeps cookies that a server sets apart', () => {
  const original = new Headers();
  original.append('set-cookie', 'a=1');
  original.append('set-cookie', 'b=2');
  const headers = webHeaders(['set-cookie', 'a=1', 'set-cookie', 'b=2'], original);
  assert.deepEqual(headers.getSetCookie(), ['a=1', 'b=2']);
});
