import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendAndReadToEnd } from '../support/clients/raw-http1.ts';
import { startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';

// Parts of a request that the router parses before anything else is known of its sender are parsed once, and bounded.

const close = 'Connection: close\r\n';
const request = (target: string, line: string) =>
  `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${line}\r\n\r\n`;

for (const [what, target, line, expected] of [
  ['an Accept of 60 KB counts as absent', '/apis', `${close}Accept: ${'text/html,'.repeat(6_000)}`, 200],
  ['an Accept of 100 clauses counts as absent', '/apis', `${close}Accept: ${'a/b,'.repeat(100)}`, 200],
  ['a target of more than 64 KiB', `/apis?${'a'.repeat(64 * 1024)}`, close.trim(), 400],
  ['Connection lines of more than 8 KiB', targets.local, `Connection: ${'a,'.repeat(5_000)}`, 400],
] as const) {
  test(`attack: ${what}: ${expected}`, async (context) => {
    const router = await startRouterUnderTest(context);
    const { statuses } = await sendAndReadToEnd(context, router.port, request(target, line), 'frontProxy');
    assert.deepEqual(statuses, [expected]);
  });
}

test('attack: a selector of more than 8 KiB is left to the API server', async (context) => {
  const router = await startRouterUnderTest(context);
  router.local.answer = (outgoing) => outgoing.end('{}');
  const target = `${targets.local}?watch=1&labelSelector=${'!,'.repeat(5_000)}`;
  const { statuses } = await sendAndReadToEnd(
    context,
    router.port,
    request(target, close.trim()),
    'frontProxy',
  );
  assert.deepEqual(statuses, [200]);
  assert.ok(router.local.requests[0]?.target === target, 'it arrived as it was sent');
});
