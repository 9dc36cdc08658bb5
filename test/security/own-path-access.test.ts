import assert from 'node:assert/strict';
import { it } from 'node:test';
import { protocols } from '../support/api-servers/api-server-double.ts';
import { ask } from '../support/clients/ask.ts';
import { rawHttp1, sendAndReadToEnd } from '../support/clients/raw-http1.ts';
import { startRouterUnderTest } from '../support/routers/router-under-test.ts';

// Tests of who is let in and how other spellings are refused: src/own-paths/authorization.test.ts,
// src/request/own-path-target.test.ts and, on every runtime, test/conformance/cases/own-paths.ts.
const prefix = '/.mixed-version-proxy';
for (const protocol of protocols) {
  it(`no method of a path under the prefix is open to anybody, and none has a handler behind another word, over ${protocol}`, async (context) => {
    const router = await startRouterUnderTest(context);
    for (const path of ['', '/', '/nosuch', '/v1/status/', '/v1/STATUS', '/v2/status', '/v1']) {
      for (const method of ['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'HEAD']) {
        const request = { protocol, method, path: `${prefix}${path}` };
        assert.equal((await ask(router.port, request)).status, 403, `${method} ${path}`);
      }
      const isPage = path === '' || path === '/';
      const shown = await ask(router.port, { protocol, client: 'admin', path: `${prefix}${path}` });
      if (!isPage) assert.equal(shown.status, 404, path);
    }
    assert.deepEqual(router.allRequests(), []);
  });
}

it('an own path in the Host header is no way to one', async (context) => {
  const router = await startRouterUnderTest(context);
  for (const host of [
    `localhost${prefix}/v1/status?`,
    `localhost${prefix}/v1/status#`,
    `${prefix}/v1/status?`,
  ]) {
    const bytes = `GET /api/v1/pods HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    const { statuses } = await sendAndReadToEnd(context, router.port, bytes, 'admin');
    assert.deepEqual(statuses, [400], host);
  }
  assert.deepEqual(router.allRequests(), []);
});

it('an absolute-form target leads to an own path for whom the path does', async (context) => {
  const router = await startRouterUnderTest(context);
  const status = async (target: string, client: 'admin' | 'rogue') => {
    const bytes = `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    return (await sendAndReadToEnd(context, router.port, bytes, client)).statuses;
  };
  for (const client of ['admin', 'rogue'] as const) {
    const path = `${prefix}/v1/status`;
    assert.deepEqual(await status(`https://localhost${path}`, client), await status(path, client), client);
  }
  assert.deepEqual(await status(`https://localhost${prefix}/v1/status`, 'admin'), [200]);
  assert.deepEqual(await status(`https://localhost/%2emixed-version-proxy/v1/status`, 'admin'), [400]);
  assert.deepEqual(router.allRequests(), []);
});

it('an upgrade request to an own path, in any spelling, reaches no handler and no API server', async (context) => {
  const router = await startRouterUnderTest(context);
  for (const client of ['nobody', 'alice', 'admin', 'rogue'] as const) {
    for (const path of [
      `${prefix}/v1/status`,
      prefix,
      '//.mixed-version-proxy/v1/status',
      '/%2emixed-version-proxy',
    ]) {
      const raw = await rawHttp1(context, router.port, client);
      raw.write(
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      );
      await raw.untilEnd();
      // No target for an upgrade, whoever sends it: that is said before anybody is asked who it is.
      assert.deepEqual(raw.statuses, [400], `${client} ${path}`);
      assert.ok(!raw.received.includes('"serverId"'));
    }
  }
  assert.deepEqual(router.allRequests(), []);
});
