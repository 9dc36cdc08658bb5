import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeUpgrade } from './upgrade.ts';

const post = ['Host', 'x', 'Connection', 'Upgrade', 'Content-Length', '0'];

test('websocket and SPDY/3.1 are let through in any case, as the client wrote them', () => {
  for (const token of ['websocket', 'WebSocket', 'SPDY/3.1', 'spdy/3.1']) {
    assert.deepEqual(judgeUpgrade('1.1', [...post, 'Upgrade', token]), { token });
  }
});

test('h2c, lists, repeated lines, other versions and nothing at all are refused', () => {
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
    const headers = [...post, ...tokens.flatMap((token) => ['Upgrade', token])];
    assert.ok('refusal' in judgeUpgrade('1.1', headers), tokens.join(' | '));
  }
});

test('an upgrade with a body is refused, however the body is announced', () => {
  for (const framing of [
    ['Content-Length', '5'],
    ['content-length', '0', 'content-length', '5'],
    ['Transfer-Encoding', 'chunked'],
    ['transfer-encoding', 'identity'],
  ]) {
    assert.ok('refusal' in judgeUpgrade('1.1', ['Upgrade', 'websocket', ...framing]), framing.join(' '));
  }
});

test('HTTP/1.0 has no upgrades', () => {
  assert.ok('refusal' in judgeUpgrade('1.0', ['Upgrade', 'websocket']));
});
