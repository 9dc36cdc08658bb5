import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import type { Snapshot } from '../../src/snapshot/format/schema.ts';
import { protocols, startApiServer } from '../support/api-servers/api-server-double.ts';
import { ask } from '../support/clients/ask.ts';
import { rawHttp1, sendAndReadToEnd } from '../support/clients/raw-http1.ts';
import {
  pushSnapshot,
  startRouterUnderTest,
  startRunning,
  targets,
} from '../support/routers/router-under-test.ts';
import { bearerToken } from '../support/security/secrets.ts';
import { snapshotOf } from '../support/snapshots/snapshot-builder.ts';

const headers = ['authorization', `Bearer ${bearerToken}`];

/** Jobs are at `to`, so this one says, and nowhere else. */
function pointingAt(self: string, to: string, port: number): Snapshot {
  return snapshotOf({
    [self]: ['v1/pods'],
    [to]: { serves: ['v1/pods', 'batch/v1/jobs'], address: `127.0.0.1:${port}`, serverName: 'localhost' },
  });
}

/** Routers `a`, `b`, … each of which takes the next for the server of jobs, and the last the first. */
async function startRing(context: TestContext, names: readonly string[]) {
  const logLines: string[] = [];
  const local = await startApiServer(context, 'local');
  const ports: number[] = [];
  for (const name of names) {
    const flags = { 'server-id': [name], 'local-server': [local.origin] };
    ports.push((await startRunning(context, logLines, flags)).port);
  }
  for (const [index, name] of names.entries()) {
    const next = (index + 1) % names.length;
    const snapshot = pointingAt(name, names[next] ?? '', ports[next] ?? 0);
    assert.equal((await pushSnapshot(ports[index] ?? 0, snapshot)).status, 200);
  }
  return { local, ports };
}

for (const protocol of protocols) {
  for (const names of [
    ['a', 'b'],
    ['a', 'b', 'c'],
  ]) {
    test(`S16: ${names.length} routers whose snapshots disagree do not send a token’s request round for ever, over ${protocol}`, async (context) => {
      const { local, ports } = await startRing(context, names);
      for (const port of ports) {
        const answer = await ask(port, { protocol, path: targets.peer, headers });
        assert.equal(answer.status, 503);
        const { details, message } = JSON.parse(answer.body);
        assert.equal(details.causes[0].reason, 'LoopDetected', message);
        // Going round again would help nobody.
        assert.deepEqual(allHeaders(answer.headers, 'retry-after'), []);
      }
      assert.deepEqual(local.requests, []);
    });
  }
}

test('S16: an upgrade does not go round either', async (context) => {
  const { local, ports } = await startRing(context, ['a', 'b']);
  const raw = await sendAndReadToEnd(
    context,
    ports[0] ?? 0,
    `POST ${targets.peer}/x/attach HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n`,
  );
  assert.deepEqual(raw.statuses, [503]);
  assert.match(raw.received, /LoopDetected/);
  assert.deepEqual(local.requests, []);
});

test('S16: routers that know each other end the loop after one hop, at the local server', async (context) => {
  const { local, ports } = await startRing(context, ['a', 'b']);
  for (const port of ports) {
    local.clear();
    const answer = await ask(port, { client: 'alice', path: targets.peer });
    assert.equal(answer.status, 200);
    assert.equal(local.only().target, targets.peer);
    assert.equal(allHeaders(local.only().headers, 'x-remote-user')[0], 'alice');
  }
});

test('S16: a router that has itself for its local server says so', async (context) => {
  const router = await startRouterUnderTest(context, { snapshot: () => undefined });
  const logLines: string[] = [];
  const { port: inner } = await startRunning(context, logLines, {
    'server-id': ['inner'],
    'local-server': [`https://127.0.0.1:${router.port}`],
    'local-server-name': ['localhost'],
  });
  // `router` now sends to `inner` what only `inner` has, and `inner` sends all it gets back to `router`.
  await router.push(pointingAt('local', 'inner', inner));
  await pushSnapshot(inner, snapshotOf({ inner: ['v1/pods'] }));
  const answer = await ask(router.port, { path: targets.peer, headers });
  assert.equal(answer.status, 503);
  assert.match(answer.body, /LoopDetected/);
});

test('S16: Via changes nothing for those who forge it: a foreign name passes, and our own is a refusal', async (context) => {
  const router = await startRouterUnderTest(context);
  await ask(router.port, { path: targets.local });
  const [own = ''] = allHeaders(router.local.only().headers, 'via');
  assert.match(own, /^1\.1 mixed-version-proxy-[0-9a-f]{16}$/);

  for (const via of ['1.1 mixed-version-proxy-0000000000000000', '1.0 a, 2 b (comment)', 'nonsense']) {
    router.peer.clear();
    assert.equal((await ask(router.port, { path: targets.peer, headers: ['via', via] })).status, 200);
    assert.deepEqual(allHeaders(router.peer.only().headers, 'via'), [via, own]);
  }
  for (const via of [own, `1.0 a, ${own}`, `1.0 a,${own} (comment)`]) {
    router.peer.clear();
    assert.equal((await ask(router.port, { path: targets.peer, headers: ['via', via] })).status, 503);
    assert.deepEqual(router.peer.requests, []);
  }
  // Nor can a nomination take it off (RFC 9110 section 7.6.1).
  const raw = await rawHttp1(context, router.port);
  raw.write(`GET ${targets.peer} HTTP/1.1\r\nHost: localhost\r\nVia: ${own}\r\nConnection: Via\r\n\r\n`);
  await raw.until(() => raw.statuses.length === 1);
  assert.deepEqual(raw.statuses, [503]);
});
