import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isForTunnel } from './upgrade.ts';

const post = ['Host', 'x', 'Connection', 'Upgrade', 'Content-Length', '0'];

test('websocket and SPDY/3.1 are tunnelled, in any case', () => {
  for (const token of ['websocket', 'WebSocket', 'SPDY/3.1', 'spdy/3.1']) {
    assert.ok(isForTunnel({ httpVersion: '1.1', rawHeaders: [...post, 'Upgrade', token] }), token);
  }
});

test('h2c, lists, repeated lines, other versions and nothing at all are not', () => {
  for (const tokens of [
    ['h2c'],
    ['websocket, h2c'],
    ['h2c, websocket'],
    ['websocket', 'websocket'],
    ['websocket', 'SPDY/3.1'],
    ['SPDY/3'],
    ['websocket/13'],
    ['TLS/1.0'],
    [''],
    [],
  ]) {
    const rawHeaders = [...post, ...tokens.flatMap((token) => ['Upgrade', token])];
    assert.equal(isForTunnel({ httpVersion: '1.1', rawHeaders }), false, tokens.join(' | '));
  }
});

test('HTTP/1.0 has no upgrades', () => {
  assert.equal(isForTunnel({ httpVersion: '1.0', rawHeaders: ['Upgrade', 'websocket'] }), false);
});
