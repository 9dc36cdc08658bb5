import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ambiguousPaths } from '../conformance/cases/paths.ts';
import { rawHttp1, sendAndReadToEnd } from '../support/security/raw-http1.ts';
import { startRouterUnderTest, targets } from '../support/security/router-under-test.ts';

// Requests of both protocols with these paths, and those that arrive byte for byte: test/conformance/cases/paths.ts.
test('S14: an upgrade to a path that two parsers could read differently is refused and never forwarded', async (context) => {
  const router = await startRouterUnderTest(context);
  for (const path of ambiguousPaths) {
    const upgrade = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    const upgraded = await sendAndReadToEnd(context, router.port, upgrade, 'admin');
    assert.deepEqual(upgraded.statuses, [400], path);
    assert.ok(!upgraded.received.includes('root'), 'the refusal repeats nothing of the path');
  }
  assert.deepEqual(router.allRequests(), []);
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
