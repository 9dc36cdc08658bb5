import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startRouterWithFiles } from '../support/routers/started-router.ts';

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

async function ask(origin: string, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const request = get(`${origin}${path}`, { headers, agent: false });
  const [response] = await once(request, 'response');
  return { status: response.statusCode, text: Buffer.concat(await response.toArray()).toString() };
}

test('the admin address answers without credentials, and carries nothing to an API server', async (context) => {
  const { router, apiServer } = await startRouterWithFiles(context, {
    flags: { 'admin-bind-address': ['127.0.0.1:0'] },
  });
  const { adminOrigin = assert.fail() } = router;
  assert.match(adminOrigin, /^http:\/\/127\.0\.0\.1:\d+$/);
  const askHere = (path: string, headers?: Record<string, string>) => ask(adminOrigin, path, headers);
  assert.deepEqual(await askHere('/livez'), { status: 200, text: 'ok' });
  // There has been no snapshot.
  assert.equal((await askHere('/readyz?verbose')).status, 500);
  assert.match((await askHere('/metrics')).text, /^mixed_version_proxy_build_info\{/m);
  for (const path of [
    '/',
    '/api',
    '/api/v1/pods',
    '/apis/apps/v1/deployments?watch=1',
    '/openapi/v2',
    '/version',
    '/.mixed-version-proxy/',
    '/.mixed-version-proxy/v1/status',
    '/.mixed-version-proxy/v1/snapshot',
    '/metrics/../api/v1/pods',
    '//livez',
  ]) {
    assert.equal((await askHere(path)).status, 404, path);
  }
  // A claimed identity counts for nothing here.
  const claims = { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' };
  assert.equal((await askHere('/.mixed-version-proxy/v1/status', claims)).status, 404);
  assert.equal((await askHere('/metrics', { host: 'rebound.example' })).status, 403);
  assert.equal(apiServer.requests.length, 0);
});

test('an upgrade, a CONNECT and an absolute target at the admin address open no tunnel', async (context) => {
  const { router, apiServer } = await startRouterWithFiles(context, {
    flags: { 'admin-bind-address': ['127.0.0.1:0'] },
  });
  const { adminOrigin = assert.fail() } = router;
  const { port } = new URL(adminOrigin);
  for (const lines of [
    [
      'GET /api/v1/namespaces/a/pods/b/exec HTTP/1.1',
      'Host: localhost',
      'Connection: Upgrade',
      'Upgrade: SPDY/3.1',
    ],
    [`CONNECT 127.0.0.1:${apiServer.port} HTTP/1.1`, `Host: 127.0.0.1:${apiServer.port}`],
    [`GET https://127.0.0.1:${apiServer.port}/api HTTP/1.1`, `Host: 127.0.0.1:${apiServer.port}`],
  ]) {
    const socket = connect(Number(port), '127.0.0.1');
    context.after(() => socket.destroy());
    socket.end([...lines, 'Connection: close', '', ''].join('\r\n'));
    const answer = Buffer.concat(await socket.toArray()).toString('latin1');
    assert.doesNotMatch(answer, /^HTTP\/1\.1 (?:2|101)/, lines.join());
  }
  assert.equal(apiServer.requests.length, 0);
});
