import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { denoArguments } from '../../scripts/edge/deno-arguments.ts';
import { denoBinary, denoMissing, startDeno, startDenoProcess } from '../../scripts/edge/start-deno.ts';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { createAuthority } from '../support/certificates.ts';
import {
  askEdge,
  assertPeerIsToldWhoCalls,
  edgeProcessCluster,
  edgeTlsOf,
  pushSnapshot,
  startEdge,
} from '../support/edge/edge-process.ts';
import { openHttp1, readUntil } from '../support/tls-client.ts';

describe('a router on Deno', { skip: denoBinary() === undefined && denoMissing }, () => {
  test('routes by a pushed snapshot, and tells the peer who calls over mutual TLS, one line a group', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const directory = await cluster.directory();
    const edge = await startEdge(context, startDeno, cluster, { directory });
    assert.equal((await askEdge(edge, cluster, '/readyz')).status, 500);
    const pushed = await pushSnapshot(edge, cluster, 7);
    assert.equal(JSON.parse(pushed.text).persisted, true, pushed.text);
    await assertPeerIsToldWhoCalls(edge, cluster);

    await edge.close();
    assert.equal((await stat(join(directory, 'snapshot'))).mode & 0o777, 0o600);
    const restarted = await startEdge(context, startDeno, cluster, { directory });
    assert.equal((await askEdge(restarted, cluster, '/readyz')).status, 200);
    assert.equal((await pushSnapshot(restarted, cluster, 6)).status, 409);
  });

  test('believes no header and no client certificate, and sends neither on as an identity', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const edge = await startEdge(context, startDeno, cluster);
    await pushSnapshot(edge, cluster, 1);
    const forged = {
      'x-remote-user': 'admin',
      'x-remote-group': ['system:masters', 'b'],
      'cf-connecting-ip': '192.0.2.1',
    };
    const answer = await askEdge(edge, cluster, '/api/v1/pods', { headers: forged });
    assert.equal(answer.status, 200);
    const [seen] = cluster.local.requests;
    assert.ok(seen);
    assert.equal(seen.clientName, undefined);
    assert.deepEqual(allHeaders(seen.headers, 'x-remote-user'), []);
    assert.deepEqual(allHeaders(seen.headers, 'x-remote-group'), []);
    const own = await askEdge(edge, cluster, '/.mixed-version-proxy/v1/status', { headers: forged });
    assert.equal(own.status, 401);
  });

  test('refuses what it could only forward as something else, and forwards nothing of it', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const edge = await startEdge(context, startDeno, cluster);
    await pushSnapshot(edge, cluster, 1);
    const { port } = new URL(edge.origin);
    const attacks: readonly (readonly [string, ...string[]])[] = [
      ['GET /api/../apis HTTP/1.1', 'Host: h'],
      ['GET /api/%2e%2e/apis HTTP/1.1', 'Host: h'],
      ['GET /api\\apis HTTP/1.1', 'Host: h'],
      ['GET /api"x HTTP/1.1', 'Host: h'],
      ['GET /pods HTTP/1.1', 'Host: h/.mixed-version-proxy/v1/status?'],
      ['GET /pods HTTP/1.1', 'Host: h/api/v1'],
      ['GET http://other/api/v1/pods HTTP/1.1', 'Host: h'],
      [
        'GET /api/v1/pods HTTP/1.1',
        'Host: h',
        'Impersonate-User: a',
        'Impersonate-Group: b',
        'Impersonate-Group: c',
      ],
      ['TRACE /api/v1/pods HTTP/1.1', 'Host: h'],
      ['GET /api/v1/pods HTTP/1.1', 'Host: h', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'],
    ];
    for (const lines of attacks) {
      const socket = await openHttp1(context, { port: Number(port), ca: cluster.authority.certificate });
      socket.write([...lines, '', ''].join('\r\n'));
      assert.match(await readUntil(socket, '\r\n\r\n'), /^HTTP\/1\.1 400 /, lines[0]);
      socket.destroy();
    }
    assert.deepEqual(cluster.local.requests, []);
  });

  test('hands a watch on as it comes, and its end by the client', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const edge = await startEdge(context, startDeno, cluster);
    await pushSnapshot(edge, cluster, 1);
    const { port } = new URL(edge.origin);
    const socket = await openHttp1(context, { port: Number(port), ca: cluster.authority.certificate });
    socket.write('GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n');
    await readUntil(socket, 'ADDED\n');
    const [watch] = cluster.local.watches;
    assert.ok(watch);
    // Written only after the first event has arrived: nothing on the way waits for more.
    watch.write('MODIFIED\n');
    await readUntil(socket, 'MODIFIED\n');
    const closed = once(watch, 'close');
    socket.destroy();
    await closed;
  });

  test('connects to no server of another authority', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const other = await createAuthority('another-ca');
    const edge = await startEdge(context, startDeno, cluster, {
      tls: { ...edgeTlsOf(cluster, false), destinationAuthorities: other.certificate },
    });
    assert.equal((await askEdge(edge, cluster, '/api/v1/pods')).status, 503);
    assert.deepEqual(cluster.local.requests, []);
  });

  test('does not start with faulty variables, and names every fault', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const starting = startDeno({
      directory: await cluster.directory(),
      tls: edgeTlsOf(cluster, false),
      environment: { ...cluster.environment, LOCAL_SERVER: 'cp-a', PEER_PORTS: 'all', STALE_POLICY: 'never' },
    });
    await assert.rejects(starting, /code 2[\s\S]*LOCAL_SERVER[\s\S]*/);
    await assert.rejects(starting, /PEER_PORTS/);
    await assert.rejects(starting, /STALE_POLICY/);
    const demanding = startDeno({
      directory: await cluster.directory(),
      tls: edgeTlsOf(cluster, true),
      environment: cluster.environment,
    });
    await assert.rejects(demanding, /cannot demand client certificates/);
  });

  test('names every file that is missing and every faulty variable at once', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const directory = await cluster.directory();
    const file = (name: string) => join(directory, name);
    const configuration = {
      apiVersion: 'mixed-version-proxy/v1alpha1',
      kind: 'EdgeConfiguration',
      listen: '127.0.0.1:0',
      tls: { certFile: file('missing.crt'), keyFile: file('missing.key') },
      destinations: { caFile: file('missing-ca.crt') },
      stateDirectory: directory,
      environment: { ...cluster.environment, STALE_POLICY: 'never', SNAPSHOT_STORE: 'kv' },
      environmentFiles: { ASSERTION_SIGNING_KEY: file('missing.jwk') },
    };
    delete (configuration.environment as Record<string, string>)['ASSERTION_SIGNING_KEY'];
    const path = file('edge.json');
    await writeFile(path, JSON.stringify(configuration));
    const starting = startDenoProcess(path, configuration, directory);
    const { message } = await starting.then(
      () => assert.fail('it started'),
      (error: Error) => error,
    );
    assert.match(message, /code 2/);
    const named = [
      'tls.certFile',
      'tls.keyFile',
      'destinations.caFile',
      'environmentFiles.ASSERTION_SIGNING_KEY',
      'STALE_POLICY',
      'SNAPSHOT_STORE',
    ];
    for (const name of named) assert.ok(message.includes(`"path":"${name}"`), `${name}: ${message}`);
    assert.equal(message.match(/"path":/g)?.length, named.length, message);
  });

  test('reads no file but those of its configuration', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const directory = await cluster.directory();
    await writeFile(join(directory, 'secret.json'), '{}');
    const args = denoArguments(join(directory, 'edge.json'), {
      listen: '127.0.0.1:0',
      tls: { certFile: join(directory, 'a'), keyFile: join(directory, 'b') },
      destinations: { caFile: join(directory, 'c') },
      stateDirectory: directory,
      environment: {},
      environmentFiles: {},
    });
    const other = [...args.slice(0, -1), join(directory, 'secret.json')];
    const { stderr, status } = spawnSync(denoBinary() ?? '', other, {
      encoding: 'utf8',
      env: { DENO_DIR: join(directory, 'deno'), NO_COLOR: '1' },
      timeout: 20_000,
    });
    assert.equal(status, 2);
    assert.match(stderr, /secret.json.*cannot be read.*--allow-read/);
  });
});
