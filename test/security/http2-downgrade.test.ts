import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { ask } from '../support/security/ask.ts';
import { http2Vectors } from '../support/security/http2-vectors.ts';
import { frame, frameFlag, frameType, rawHttp2 } from '../support/security/raw-http2.ts';
import { protocols } from '../support/security/recording-backend.ts';
import { startRouterUnderTest, targets } from '../support/security/router-under-test.ts';

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
        for (const backend of [router.local, router.peer, router.extension]) {
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
