import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { createAuthority } from '../support/certificates.ts';
import {
  askEdge,
  edgeProcessCluster,
  edgeTlsOf,
  pushSnapshot,
  startEdge,
} from '../support/edge/edge-process.ts';

describe('a router on self-hosted workerd, mutual TLS on both sides', () => {
  test('lets nobody in without a certificate of the client authority', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const edge = await startEdge(context, cluster, { tls: edgeTlsOf(cluster, true) });
    assert.equal((await askEdge(edge, cluster, '/livez')).status, 200);
    await assert.rejects(askEdge(edge, cluster, '/livez', { client: null }));
    const stranger = await createAuthority('cluster-ca');
    const forged = await stranger.issue({ commonName: 'somebody', usage: 'client' });
    await assert.rejects(askEdge(edge, cluster, '/livez', { client: forged }));
  });

  test('takes a certificate for the right to connect, never for a name', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const edge = await startEdge(context, cluster, {
      tls: edgeTlsOf(cluster, true),
      environment: { ...cluster.environment, CLIENT_CERTIFICATES: 'cf' },
    });
    await pushSnapshot(edge, cluster, 1);
    const cf = JSON.stringify({
      tlsClientAuth: {
        certPresented: '1',
        certVerified: 'SUCCESS',
        certRevoked: '0',
        certSubjectDNRFC2253: 'CN=admin,O=system:masters',
      },
    });
    const forged = {
      'x-remote-user': 'admin',
      'x-remote-group': ['system:masters'],
      x_remote_user: 'admin',
      cf,
      'cf-blob': cf,
      'cf-connecting-ip': '192.0.2.1',
      'x-kubernetes-peer-proxied': 'true',
    };
    const { status } = await askEdge(edge, cluster, '/api/v1/pods', { headers: forged });
    assert.equal(status, 200);
    const [seen] = cluster.local.requests;
    assert.ok(seen);
    assert.equal(
      seen.clientCertificate,
      undefined,
      'no front-proxy certificate for a caller who is not known',
    );
    for (const name of ['x-remote-user', 'x-remote-group', 'x_remote_user', 'x-kubernetes-peer-proxied']) {
      assert.deepEqual(allHeaders(seen.headers, name), [], name);
    }
    assert.doesNotMatch(seen.headers.join('\n'), /192\.0\.2\.1/);
    const own = await askEdge(edge, cluster, '/.mixed-version-proxy/v1/status', { headers: forged });
    assert.equal(own.status, 403);
  });

  test('connects to no server of another authority, and to no network that is not allowed', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const other = await createAuthority('another-ca');
    const tls = { ...edgeTlsOf(cluster, true), destinationAuthorities: other.certificate };
    const distrusting = await startEdge(context, cluster, {
      tls,
    });
    assert.equal((await askEdge(distrusting, cluster, '/api/v1/pods')).status, 503);
    const confined = await startEdge(context, cluster, {
      tls: edgeTlsOf(cluster, true),
      networks: ['10.0.0.0/8'],
    });
    assert.equal((await askEdge(confined, cluster, '/api/v1/pods')).status, 503);
    assert.deepEqual(cluster.local.requests, []);
  });

  test('refuses a target that is no path, for workerd would take it for a part of the host', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const edge = await startEdge(context, cluster, { tls: edgeTlsOf(cluster, true) });
    const { authority, client } = cluster;
    const asked = request(edge.origin, {
      path: '*',
      ca: authority.certificate,
      cert: client.chain,
      key: client.privateKey,
      agent: false,
    });
    asked.end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    const { reason } = JSON.parse(await text(response)) as { readonly reason: string };
    assert.deepEqual([response.statusCode, reason], [400, 'BadRequest']);
    assert.deepEqual(cluster.local.requests, []);
  });

  test('trusts every certificate of a bundle', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const first = await createAuthority('another-ca');
    const tls = edgeTlsOf(cluster, true);
    const bundle = `${first.certificate}${cluster.authority.certificate}`;
    const edge = await startEdge(context, cluster, {
      tls: { ...tls, clientAuthorities: bundle, destinationAuthorities: bundle },
    });
    assert.equal((await askEdge(edge, cluster, '/api/v1/pods')).status, 200);
  });

  test('has the last snapshot on its disk: a restart routes by it, and no older one is taken', async (context) => {
    const cluster = await edgeProcessCluster(context);
    const directory = await cluster.directory();
    const options = { directory, tls: edgeTlsOf(cluster, true) };
    const before = await startEdge(context, cluster, options);
    assert.equal((await askEdge(before, cluster, '/readyz')).status, 500);
    assert.equal((await pushSnapshot(before, cluster, 7)).status, 200);
    await before.close();

    const after = await startEdge(context, cluster, options);
    assert.equal((await askEdge(after, cluster, '/readyz')).status, 200);
    const authorization = `Bearer ${await cluster.token('jane')}`;
    await askEdge(after, cluster, '/apis/batch/v1/jobs', { headers: { authorization } });
    assert.equal(cluster.peer.requests.length, 1);
    assert.equal((await pushSnapshot(after, cluster, 6)).status, 409);
  });
});
