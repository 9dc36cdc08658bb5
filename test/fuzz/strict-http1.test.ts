import assert from 'node:assert/strict';
import { test } from 'node:test';
import { framingVectors, smuggled } from '../support/security/smuggling-vectors.ts';
import { readingsOf, requestsIn } from './strict-http1.ts';

const get = 'GET /a HTTP/1.1\r\nHost: x\r\n\r\n';
const nominated = new Set<string>();
const a = { method: 'GET', target: '/a', nominated, body: '', complete: true };

test('the oracle finds the requests of a pipeline, with their bodies', () => {
  const post = 'POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello';
  const chunked =
    'PUT /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n';
  assert.deepEqual(requestsIn(get + post + chunked + get), [
    a,
    { method: 'POST', target: '/b', nominated, body: 'hello', complete: true },
    { method: 'PUT', target: '/c', nominated, body: 'abcde', complete: true },
    a,
  ]);
});

test('the oracle stops at what is not there whole', () => {
  for (const rest of ['G', 'GET /b HTTP/1.1\r\nHost: x\r\n']) assert.deepEqual(requestsIn(get + rest), [a]);
  assert.deepEqual(requestsIn(`${get}POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhell`), [
    a,
    { method: 'POST', target: '/b', nominated, body: '', complete: false },
  ]);
});

for (const { name, bytes } of framingVectors) {
  test(`the oracle takes nothing behind ${name}`, () => {
    assert.deepEqual(readingsOf(bytes + smuggled), { requests: [], isRefused: true });
  });
}

for (const lines of ['', 'Host: a\r\nHost: a\r\n', 'Host: a b\r\n', 'Host: a/b\r\n', 'Host: user@a\r\n']) {
  test(`the oracle takes no request of HTTP/1.1 with the lines ${JSON.stringify(lines)}`, () => {
    const request = `GET /a HTTP/1.1\r\n${lines}\r\n`;
    assert.deepEqual(readingsOf(request + get), { requests: [], isRefused: true });
  });
}
