import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rawHttp1, sendAndReadToEnd } from '../support/security/raw-http1.ts';
import { rawHttp2 } from '../support/security/raw-http2.ts';
import { startRouterUnderTest, targets } from '../support/security/router-under-test.ts';

/** Paths that one parser resolves, cuts or splits where another does not (GHSA-2q7r-29rg-6m5h, 1.24 audit #6). */
const ambiguous = [
  '/apis/batch/v1/namespaces/../jobs',
  '/apis/batch/v1/namespaces/./jobs',
  '/apis/batch/v1/namespaces/%2e%2e/jobs',
  '/apis/batch/v1/namespaces/%2E%2E/jobs',
  '/apis/batch/v1/namespaces/.%2e/jobs',
  '/apis/batch/v1/namespaces/%2e./jobs',
  '/apis/batch/v1/namespaces/%2e/jobs',
  '/apis/batch/v1/namespaces/..%2Fjobs',
  '/apis/batch/v1/namespaces%2F..%2Fjobs',
  '/apis/batch/v1/namespaces%2f%2e%2e%2fjobs',
  '/apis/batch/v1\\namespaces\\a\\jobs',
  '/apis/batch/v1%5cnamespaces%5ca%5cjobs',
  '/apis/batch/v1/namespaces/a/jobs/..',
  '/../apis/batch/v1/jobs',
  '/%2e%2e/apis/batch/v1/jobs',
  '/apis/batch/v1/jobs/%00',
  '/apis/batch/v1/jobs/%0d%0aX-Remote-User:%20root',
  '/apis/batch/v1/jobs/%7f',
  '/apis/batch/v1/jobs/%c0%ae%c0%ae/secrets',
  '/apis/batch/v1/jobs/%ff',
  '/apis/batch/v1/jobs/%',
  '/apis/batch/v1/jobs/%zz',
  '/apis/batch/v1/jobs/%u002e',
  '/apis/batch/v1/jobs#/../secrets',
  '/.mixed-version-proxy/../apis/batch/v1/jobs',
  '/.mixed-version-proxy/v1/%2e%2e/snapshot',
];

/** What looks odd and means one thing only: it arrives byte for byte, where that meaning sends it. */
const unambiguous = {
  '/apis/batch/v1/namespaces/a%2Fb/jobs': 'local',
  '/apis/batch/v1/namespaces/a/jobs/b%252e%252e': 'peer',
  '/apis/batch/v1/namespaces/a/jobs/...': 'peer',
  '/apis/batch/v1/namespaces/a/jobs/b;c=d': 'peer',
  '/apis/batch/v1/namespaces/a/jobs/b%3Bc': 'peer',
  '/apis/batch/v1/namespaces/a/jobs/caf%C3%A9': 'peer',
  '/apis/batch/v1/namespaces/a/jobs/b/': 'peer',
  '/apis/batch/v1/namespaces/a/jobs?watch=1&a=%2e%2e/..&watch=0&&=&x;y': 'peer',
  '/apis/batch/v1/jobs?': 'peer',
  '/apis/batch/v1/jobs?x=https://evil.example/../..': 'peer',
  '/apis/BATCH/v1/jobs': 'local',
  '/apis/batch/v1/Jobs': 'local',
  '/APIS/batch/v1/jobs': 'local',
} as const;

test('S14: a path that two parsers could read differently is refused on every protocol and never forwarded', async (context) => {
  const router = await startRouterUnderTest(context);
  for (const path of ambiguous) {
    const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const overHttp1 = await sendAndReadToEnd(context, router.port, request, 'admin');
    assert.deepEqual(overHttp1.statuses, [400], path);

    const upgrade = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    const upgraded = await sendAndReadToEnd(context, router.port, upgrade, 'admin');
    assert.deepEqual(upgraded.statuses, [400], path);

    const raw = await rawHttp2(context, router.port, 'admin');
    raw.request(1, [':method', 'GET', ':scheme', 'https', ':authority', 'localhost', ':path', path]);
    const { status } = await raw.outcome(1);
    assert.ok(status === 400 || status === undefined, path);
    // The refusal repeats nothing of the path.
    assert.ok(!overHttp1.received.includes('root'));
  }
  assert.deepEqual(router.allRequests(), []);
});

test('S14: what was decided on is what is forwarded, byte for byte', async (context) => {
  const router = await startRouterUnderTest(context);
  for (const [path, way] of Object.entries(unambiguous)) {
    for (const protocol of ['http/1.1', 'h2']) {
      for (const backend of [router.local, router.peer]) backend.clear();
      if (protocol === 'h2') {
        const raw = await rawHttp2(context, router.port, 'alice');
        raw.request(1, [':method', 'GET', ':scheme', 'https', ':authority', 'localhost', ':path', path]);
        assert.equal((await raw.outcome(1)).status, 200);
      } else {
        const raw = await rawHttp1(context, router.port, 'alice');
        raw.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
        await raw.until(() => raw.statuses.length === 1);
      }
      assert.equal(router[way].only().target, path);
      assert.equal(router.allRequests().length, 1);
    }
  }
});

test('S14: an upgrade is decided on the same bytes that go out', async (context) => {
  const router = await startRouterUnderTest(context);
  const path = `${targets.peer}/a%20b/attach?stdin=%2e%2e&x;y`;
  const raw = await rawHttp1(context, router.port, 'alice');
  raw.write(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\nhello`,
  );
  await raw.until((received) => received.endsWith('HELLO'));
  assert.equal(router.peer.only().target, path);
});
