import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { protocols } from '../support/api-servers/api-server-double.ts';
import { ask } from '../support/clients/ask.ts';
import { frame, frameFlag, frameType, rawHttp2 } from '../support/clients/raw-http2.ts';
import { startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';
import { smuggled } from '../support/security/smuggling-vectors.ts';

/** The field lines of one malformed HTTP/2 request. */
interface Http2Vector {
  readonly name: string;
  readonly lines: readonly string[];
  /** Sent as DATA when given, else the stream ends with the HEADERS. */
  readonly body?: string;
}

const method = [':method', 'GET'];
const scheme = [':scheme', 'https'];
const authority = [':authority', 'localhost'];
const path = [':path', targets.peer];
const good = [...method, ...scheme, ...authority, ...path];

function withLines(name: string, ...lines: string[]): Http2Vector {
  return { name, lines: [...good, ...lines] };
}

function withPath(name: string, target: string): Http2Vector {
  return { name, lines: [...method, ...scheme, ...authority, ':path', target] };
}

function post(name: string, body: string, ...lines: string[]): Http2Vector {
  return { name, body, lines: [':method', 'POST', ...scheme, ...authority, ...path, ...lines] };
}

/** Lines that would be another request, or another header, once written down as HTTP/1.1 (RFC 9113 section 10.3). */
const http2Vectors: readonly Http2Vector[] = [
  // Values (section 8.2.1).
  withLines('CR LF in a value', 'x-test', 'a\r\nX-Remote-User: root'),
  withLines('LF in a value', 'x-test', 'a\nX-Remote-User: root'),
  withLines('CR in a value', 'x-test', 'a\rX-Remote-User: root'),
  withLines('NUL in a value', 'x-test', 'a\0b'),
  withLines('a whole request in a value', 'x-test', `a\r\n\r\n${smuggled}`),
  // Names.
  withLines('CR LF in a name', 'x-test: a\r\nx-remote-user', 'root'),
  withLines('a colon in a name', 'x-remote-user: root', 'a'),
  withLines('a name that begins with a colon', ':x-remote-user', 'root'),
  withLines('an upper-case name', 'X-Remote-User', 'root'),
  withLines('a name in mixed case', 'x-Test', 'a'),
  withLines('a blank in a name', 'x test', 'a'),
  withLines('an empty name', '', 'a'),
  withLines('NUL in a name', 'x\0test', 'a'),
  withLines('a name outside ASCII', 'x-t\xe9st', 'a'),
  // Headers that belong to HTTP/1.1 connections (section 8.2.2).
  withLines('Connection', 'connection', 'x-remote-user'),
  withLines('Transfer-Encoding on a request without a body', 'transfer-encoding', 'chunked'),
  withLines('Upgrade', 'upgrade', 'websocket'),
  withLines('Keep-Alive', 'keep-alive', 'timeout=5'),
  withLines('Proxy-Connection', 'proxy-connection', 'keep-alive'),
  withLines('a TE other than trailers', 'te', 'gzip'),
  post(
    'H2.TE: Transfer-Encoding before a chunked body',
    `0\r\n\r\n${smuggled}`,
    'transfer-encoding',
    'chunked',
  ),
  // Lengths (section 8.1.1).
  post('H2.CL: a Content-Length of 0 before a body', smuggled, 'content-length', '0'),
  post('a Content-Length that is less than the body', smuggled, 'content-length', '5'),
  post('a Content-Length that is more than the body', 'hello', 'content-length', '500'),
  post('two Content-Lengths', 'hello', 'content-length', '5', 'content-length', '6'),
  post('two equal Content-Lengths', 'hello', 'content-length', '5', 'content-length', '5'),
  post('a Content-Length that is no number', 'hello', 'content-length', '5, 5'),
  withLines('a Content-Length without a body', 'content-length', '5'),
  // Pseudo headers (section 8.3).
  { name: 'no :method', lines: [...scheme, ...authority, ...path] },
  { name: 'no :path', lines: [...method, ...scheme, ...authority] },
  { name: 'no :scheme', lines: [...method, ...authority, ...path] },
  withLines('a second :path', ':path', '/api/v1/secrets'),
  withLines('a second :method', ':method', 'DELETE'),
  withLines('a second :authority', ':authority', 'evil.example'),
  withLines('a pseudo header of answers', ':status', '200'),
  withLines('an unknown pseudo header', ':root', 'x'),
  withLines(':protocol, which extended CONNECT alone has', ':protocol', 'websocket'),
  { name: 'a pseudo header behind an ordinary one', lines: [...method, ...scheme, 'x-test', 'a', ...path] },
  {
    name: 'a :method with a request in it',
    lines: [':method', `GET / HTTP/1.1\r\nHost: x\r\n\r\nGET`, ...scheme, ...authority, ...path],
  },
  { name: 'a :method with a blank in it', lines: [':method', 'GET /api', ...scheme, ...authority, ...path] },
  { name: 'CONNECT', lines: [':method', 'CONNECT', ':authority', 'evil.example:443'] },
  { name: 'CONNECT with a path', lines: [':method', 'CONNECT', ...scheme, ...authority, ...path] },
  // Targets.
  withPath('an empty :path', ''),
  withPath('absolute-form in :path', `https://evil.example${targets.peer}`),
  withPath('a :path without its first slash', targets.peer.slice(1)),
  withPath('an asterisk in :path', '*'),
  withPath('a blank in :path', `${targets.peer} HTTP/1.1`),
  withPath('CR LF in :path', `${targets.peer} HTTP/1.1\r\nX-Remote-User: root\r\nx: `),
  withPath('a tab in :path', `${targets.peer}\ta`),
  withPath('NUL in :path', `${targets.peer}\0`),
  withPath('DEL in :path', `${targets.peer}\x7f`),
  withPath('a fragment in :path', `${targets.peer}#/api`),
  withPath('raw bytes outside ASCII in :path', `${targets.peer}/\xc3\xa9`),
  withPath('a dot segment in :path', `${targets.peer}/../secrets`),
  withPath('an encoded dot segment in :path', `${targets.peer}/%2e%2e/secrets`),
  withPath('a backslash in :path', `${targets.peer}\\..\\secrets`),
];

for (const destinations of protocols) {
  test(`S12: malformed HTTP/2 is no request and no header to servers on ${destinations}`, async (context) => {
    const router = await startRouterUnderTest(context, { destinations });
    for (const vector of http2Vectors) {
      await context.test(vector.name, async (context) => {
        const { lines, body } = vector;
        const raw = await rawHttp2(context, router.port, 'alice');
        raw.request(1, lines, { endStream: body === undefined });
        if (body !== undefined) raw.write(frame(frameType.data, frameFlag.endStream, 1, Buffer.from(body)));
        const { status } = await raw.outcome(1);

        // Reset by the parser (RFC 9113 section 8.1.1), or refused by what stands behind it.
        assert.ok(status === undefined || status === 400 || status === 405, String(status));
        for (const { target, complete } of router.allRequests()) {
          // A body that does not keep its word may show when the head has gone on already; it is never whole.
          assert.notEqual(body, undefined, `${target} got through`);
          assert.deepEqual({ target, complete }, { target: targets.peer, complete: false });
        }
        for (const backend of [router.local, router.peer, router.stranger]) {
          const lines = backend.requests.flatMap(({ headers }) => headers);
          assert.ok(!lines.some((line) => /root|x.?t.?st/i.test(line)), lines.join());
          assert.ok(!/root|smuggled/.test(backend.bytes), backend.bytes);
          backend.clear();
        }
      });
    }
    const canary = await ask(router.port, { protocol: 'h2', path: `${targets.peer}/canary` });
    assert.equal(canary.status, 200);
    assert.equal(router.peer.only().target, `${targets.peer}/canary`);
  });
}

test('S12: a Host beside :authority chooses nothing and does not travel', async (context) => {
  const router = await startRouterUnderTest(context);
  const raw = await rawHttp2(context, router.port, 'alice');
  raw.request(1, [
    ...[':method', 'GET', ':scheme', 'http', ':authority', 'evil.example', ':path', targets.peer],
    ...['host', 'other.example', 'x-forwarded-host', 'third.example'],
  ]);

  assert.equal((await raw.outcome(1)).status, 200);
  assert.deepEqual(allHeaders(router.peer.only().headers, 'host'), [`127.0.0.1:${router.peer.port}`]);
  assert.ok(!router.peer.bytes.includes('other.example') && !router.peer.bytes.includes('evil.example'));
});

test('S12: trailers of an HTTP/2 request do not travel', async (context) => {
  const router = await startRouterUnderTest(context);
  const raw = await rawHttp2(context, router.port, 'alice');
  raw.request(1, [':method', 'POST', ':scheme', 'https', ':authority', 'localhost', ':path', targets.peer], {
    endStream: false,
  });
  raw.write(frame(frameType.data, frameFlag.none, 1, Buffer.from('hello')));
  raw.request(1, ['x-remote-user', 'root', 'x-test', 'a']);

  assert.equal((await raw.outcome(1)).status, 200);
  assert.equal(router.peer.only().body, 'hello');
  assert.ok(!/root|x-test/.test(router.peer.bytes));
});
