import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Http2Error } from '../frames/frame.ts';
import { checkTrailers, parseRequestHead } from '../frames/message-heads.ts';

const method = [':method', 'GET'];
const scheme = [':scheme', 'https'];
const authority = [':authority', 'localhost:6443'];
const path = [':path', '/api/v1/pods?limit=500'];
const good = [...method, ...scheme, ...authority, ...path];

function assertMalformed(lines: readonly string[]): void {
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
  for (const [name, lines] of Object.entries(vectors)) test(name, () => assertMalformed(lines));
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
