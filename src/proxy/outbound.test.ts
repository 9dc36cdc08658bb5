import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { decodeJwt } from 'jose';
import { speaker } from '../../test/support/assertions.ts';
import { mixedCluster } from '../../test/support/clusters/decision-rows.ts';
import { recordingTransport } from '../../test/support/routers/recording-transport.ts';
import { testApp, userConnection } from '../../test/support/routers/test-app.ts';
import { allHeaders } from '../apimachinery/raw-headers.ts';
import { createAssertionSigner } from '../identity/assertion/sign-assertion.ts';
import { TransportError } from '../request/destination.ts';
import type { OutboundRequest } from '../request/transport.ts';

const { key } = await speaker('edge', 'ES256');
const assertionSigner = createAssertionSigner({ key, issuer: 'edge' });
const alice = userConnection('alice', ['dev']);

const jobs = 'https://router.example/apis/batch/v1/namespaces/default/jobs?limit=500';
const pods = 'https://router.example/api/v1/namespaces/default/pods';

const header = 'mixed-version-proxy-identity';

/** The header lines that tell the destination who calls. */
function identityLines(outbound: OutboundRequest | undefined): string[] {
  const { headers = [] } = outbound ?? {};
  return headers.filter(
    (_, index) =>
      index % 2 === 0 && /^x-remote-|^authorization$|^mixed-version-proxy-/i.test(headers[index] ?? ''),
  );
}

describe('a destination that is told by assertions', () => {
  it('gets one for itself and this request, and nothing else', async () => {
    const { app, transport } = await testApp({ snapshot: mixedCluster, connection: alice, assertionSigner });
    await app.request(jobs, { headers: { authorization: 'Bearer of-alice' } });
    const [outbound] = transport.sent;
    assert.deepEqual(identityLines(outbound), [header]);
    assert.equal(outbound?.presentFrontProxyCertificate, false);
    const { aud, method, path, rerouted, user } = decodeJwt(allHeaders(outbound.headers, header)[0] ?? '');
    assert.deepEqual(
      { aud, method, path, rerouted, user },
      {
        aud: outbound.destination.id,
        method: 'GET',
        path: '/apis/batch/v1/namespaces/default/jobs?limit=500',
        rerouted: true,
        user: { name: 'alice', uid: '', groups: ['dev', 'system:authenticated'], extra: {} },
      },
    );
  });

  it('is not told that the request was rerouted when it is the local server', async () => {
    const { app, transport } = await testApp({ snapshot: mixedCluster, connection: alice, assertionSigner });
    await app.request(pods);
    const [outbound] = transport.sent;
    assert.equal(outbound?.destination.kind, 'local');
    assert.equal(decodeJwt(allHeaders(outbound.headers, header)[0] ?? '')['rerouted'], false);
    assert.deepEqual(allHeaders(outbound.headers, 'x-kubernetes-peer-proxied'), []);
  });

  it('gets another one on a second try: for itself, with a nonce of its own', async () => {
    const transport = recordingTransport((outbound) => {
      if (transport.sent.length > 1) return Response.json({ answeredBy: outbound.destination.id });
      throw new TransportError('ConnectFailed', 'connection refused', { mayHaveBeenProcessed: false });
    });
    const { app } = await testApp({ snapshot: mixedCluster, connection: alice, assertionSigner, transport });
    assert.equal((await app.request(jobs)).status, 200);
    const [first, second] = transport.sent.map(({ destination, headers }) => {
      const { aud, jti } = decodeJwt(allHeaders(headers, header)[0] ?? '');
      assert.equal(aud, destination.id);
      return { aud, jti };
    });
    assert.notEqual(first?.aud, second?.aud);
    assert.notEqual(first?.jti, second?.jti);
  });

  it('is told nothing about a caller who was not authenticated here', async () => {
    const { app, transport } = await testApp({ snapshot: mixedCluster, assertionSigner });
    await app.request(jobs, { headers: { authorization: 'Bearer opaque', 'x-remote-user': 'admin' } });
    assert.deepEqual(identityLines(transport.sent[0]), ['authorization']);
    assert.deepEqual(allHeaders(transport.sent[0]?.headers ?? [], 'authorization'), ['Bearer opaque']);
  });

  it('is not asked when the identity does not fit into a token', async () => {
    const groups = Array.from({ length: 3_000 }, (_, index) => `company:department-${index}`);
    const { app, transport } = await testApp({
      snapshot: mixedCluster,
      connection: userConnection('alice', groups),
      assertionSigner,
    });
    const response = await app.request(jobs);
    assert.equal(response.status, 413);
    assert.match(((await response.json()) as { message: string }).message, /use fewer groups/);
    assert.deepEqual(transport.sent, []);
  });
});

test('an assertion that a client sent reaches no destination, whoever calls and however it is spelled', async () => {
  const spellings = [
    'Mixed-Version-Proxy-Identity',
    'MIXED-VERSION-PROXY-IDENTITY',
    'mixed_version_proxy_identity',
  ];
  for (const connection of [{}, alice]) {
    const { app, transport } = await testApp({ snapshot: mixedCluster, connection });
    for (const url of [jobs, pods]) {
      for (const spelling of spellings) await app.request(url, { headers: { [spelling]: 'of-a-client' } });
    }
    assert.equal(transport.sent.length, 6);
    for (const { headers } of transport.sent) assert.ok(!headers.includes('of-a-client'));
  }
});
