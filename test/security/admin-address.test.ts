import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { connect } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { servingPair, startRouterWithFiles, writePair } from '../support/started-router.ts';
import { readUntil } from '../support/tls-client.ts';

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

async function ask(
  origin: string,
  path: string,
  ca: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { protocol, port } = new URL(origin);
  const options = { host: '127.0.0.1', port, path, headers, agent: false };
  const request =
    protocol === 'http:' ? getPlain(options) : getSecure({ ...options, ca, servername: 'localhost' });
  const [response] = await once(request, 'response');
  return { status: response.statusCode, text: Buffer.concat(await response.toArray()).toString() };
}

test('the admin address answers without credentials, and carries nothing to an API server', async (context) => {
  const { router, apiServer, authorities } = await startRouterWithFiles(context, {
    flags: { 'admin-bind-address': ['127.0.0.1:0'] },
  });
  const { adminOrigin = assert.fail() } = router;
  assert.match(adminOrigin, /^http:\/\/127\.0\.0\.1:\d+$/);
  const askHere = (path: string, headers?: Record<string, string>) =>
    ask(adminOrigin, path, authorities.cluster.certificate, headers);
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
  // Whoever claims to be somebody is nobody here.
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

test('beyond loopback the admin address speaks TLS only, with the serving certificate of the moment', async (context) => {
  const { router, authorities, write, logs } = await startRouterWithFiles(context, {
    flags: { 'admin-bind-address': ['0.0.0.0:0'] },
  });
  const { adminOrigin = assert.fail() } = router;
  assert.match(adminOrigin, /^https:/);
  const { certificate: ca } = authorities.cluster;
  assert.equal((await ask(adminOrigin, '/livez', ca)).status, 200);
  const nameShown = async (): Promise<unknown> => {
    const socket = connectTls({ port: Number(new URL(adminOrigin).port), ca, servername: 'localhost' });
    context.after(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket.getPeerCertificate().subject.CN;
  };
  assert.equal(await nameShown(), 'router');
  await writePair(write, 'serving', await servingPair(authorities.cluster, 'router-2'));
  await router.reload();
  assert.equal(await nameShown(), 'router-2');
  const plain = connect(Number(new URL(adminOrigin).port), '127.0.0.1');
  plain.on('error', () => {});
  context.after(() => plain.destroy());
  plain.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await assert.rejects(readUntil(plain, 'HTTP/1.1 200'));
  assert.deepEqual(
    logs.filter(({ level }) => level === 'error'),
    [],
  );
});
