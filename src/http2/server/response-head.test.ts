import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interimBlock, responseBlock } from '../frames/message-heads.ts';
import { HeaderDecoder } from '../hpack/header-decoder.ts';

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
  assert.deepEqual(decoded(interimBlock(100)), [':status', '100']);
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
