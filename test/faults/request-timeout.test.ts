import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Answer } from '../support/api-servers/api-server-double.ts';
import { type RawHttp1, rawHttp1 } from '../support/clients/raw-http1.ts';
import { frameType, type RawHttp2, rawHttp2 } from '../support/clients/raw-http2.ts';
import { eventually } from '../support/eventually.ts';
import { type RouterUnderTest, startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';

const timeoutStatus =
  /"message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","code":504/;
const snapshotPath = '/.mixed-version-proxy/v1/snapshot';
const internalError = 2;

/** By query: never a head, a head and no end, or what was asked for. */
const answer: Answer = (outgoing, { target }) => {
  if (target.endsWith('silent')) return;
  outgoing.writeHead(200, { 'content-type': 'application/json' });
  outgoing.write(target.includes('watch=true') ? '{"type":"ADDED"}\n' : '{"items":[');
};

function pseudo(method: string, path: string): string[] {
  return [':method', method, ':scheme', 'https', ':authority', 'localhost', ':path', path];
}

async function http1(context: TestContext, router: RouterUnderTest, request: string): Promise<RawHttp1> {
  const raw = await rawHttp1(context, router.port, 'admin');
  raw.write(request);
  return raw;
}

/** The code of the RST_STREAM on a stream. */
function resetOn(raw: RawHttp2, stream: number): number | undefined {
  const reset = raw.frames.find((each) => each.type === frameType.rstStream && each.stream === stream);
  return reset?.payload.readUInt32BE(0);
}

test('--request-timeout', async (context) => {
  // One router and one wait for all of it.
  const router = await startRouterUnderTest(context, { flags: { 'request-timeout': ['1s'] } });
  router.peer.answer = answer;
  const head = (method: string, target: string, lines = ''): string =>
    `${method} ${target} HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n`;
  const tenBytes = 'Content-Length: 10\r\n';
  const stuck = {
    silent: await http1(context, router, head('GET', `${targets.peer}?silent`)),
    silentWrite: await http1(context, router, head('DELETE', `${targets.peer}?silent`)),
    begun: await http1(context, router, head('GET', targets.peer)),
    upload: await http1(context, router, `${head('POST', targets.peer, tenBytes)}half`),
    push: await http1(context, router, `${head('PUT', snapshotPath, tenBytes)}half`),
    watch: await http1(context, router, head('GET', `${targets.peer}?watch=true`)),
  };
  const overHttp2 = await rawHttp2(context, router.port, 'admin');
  const streams = { silent: 1, begun: 3, watch: 5 };
  overHttp2.request(streams.silent, pseudo('GET', `${targets.peer}?silent`));
  overHttp2.request(streams.begun, pseudo('GET', targets.peer));
  const upload = await rawHttp2(context, router.port, 'admin');
  upload.request(1, pseudo('POST', targets.peer), { endStream: false });
  overHttp2.request(streams.watch, pseudo('GET', `${targets.peer}?watch=true`));

  await context.test(
    'a read without an answer in time: 503 with Retry-After; a write: 504 in kube-apiserver’s words',
    async () => {
      const received = await stuck.silent.until((text) => text.includes('"code":503'));
      assert.match(received, /^HTTP\/1\.1 503 Service Unavailable\r\n/);
      assert.match(received, /\r\nRetry-After: 1\r\n/i);
      const { status, body } = await overHttp2.outcome(streams.silent);
      assert.equal(status, 503);
      assert.match(body, /did not respond within the allotted timeout.*"retryAfterSeconds":1/);
      const written = await stuck.silentWrite.until((text) => text.includes('"code":504'));
      assert.match(written, /^HTTP\/1\.1 504 Gateway Timeout\r\n/);
      assert.match(written, timeoutStatus);
      // client-go would send it again for one (k8s.io/client-go rest/with_retry.go).
      assert.doesNotMatch(written, /retry-?after/i);
    },
  );

  await context.test(
    'an answer that is not finished in time breaks off, and cannot be taken for the whole',
    async () => {
      const received = await stuck.begun.untilEnd();
      assert.match(received, /\{"items":\[/);
      assert.doesNotMatch(received, /\r\n0\r\n\r\n$/, 'the last chunk');
      await overHttp2.outcome(streams.begun);
      assert.equal(resetOn(overHttp2, streams.begun), internalError);
    },
  );

  await context.test(
    'an upload that does not come to its end (Slowloris): 504, and on HTTP/1.1 the connection ends',
    async () => {
      const received = await stuck.upload.untilEnd();
      assert.match(received, /^HTTP\/1\.1 504 .*\r\nConnection: close\r\n/is);
      assert.equal((await upload.outcome(1)).status, 504);
    },
  );

  await context.test('an upload to one of the router’s own paths has no longer either', async () => {
    assert.match(await stuck.push.untilEnd(), /^HTTP\/1\.1 504 /);
  });

  await context.test('the work at the server is given up', async () => {
    const withoutWatches = () => router.peer.requests.filter(({ target }) => !target.includes('watch=true'));
    await eventually(() => withoutWatches().every(({ aborted }) => aborted));
    assert.ok(withoutWatches().length >= 4);
  });

  await context.test('a watch goes on, and the log says how many requests did not', () => {
    assert.equal(stuck.watch.ended, false);
    assert.match(stuck.watch.received, /\{"type":"ADDED"\}/);
    assert.equal(resetOn(overHttp2, streams.watch), undefined);
    assert.ok(router.logLines.some((line) => line.includes('Requests took longer than --request-timeout')));
  });
});
