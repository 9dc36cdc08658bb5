import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestRecord } from '../demo/example-api-server/index.ts';
import { allHeaders } from '../src/apimachinery/raw-headers.ts';
import { type TlsCredentials, tlsRequest } from './support/clients/tls-request.ts';
import { askRouter, eventuallyReturns, syncCluster } from './support/clusters/sync-cluster.ts';

const pods = '/api/v1/namespaces/default/pods';
/** Only the newer server serves it. */
const flowSchemas = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';
const forged = { 'x-remote-user': 'root', 'x-remote-group': 'system:masters' };

test('a gateway without a front-proxy pair passes tokens through and lets no certificate holder pass as anybody', async (context) => {
  const cluster = await syncCluster(context);
  const asked: RequestRecord[] = [];
  const onRequest = (record: RequestRecord) => void asked.push(record);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a', onRequest });
  await cluster.startServer({ version: '1.36', name: 'cp-b', onRequest });
  const router = await cluster.startRouter(a, {
    'snapshot-keys': undefined,
    kubeconfig: [await cluster.kubeconfig(a)],
    'server-id': undefined,
    'local-server': undefined,
    gateway: ['true'],
    'proxy-client-cert-file': undefined,
    'proxy-client-key-file': undefined,
    'requestheader-client-ca-file': undefined,
    'requestheader-allowed-names': undefined,
  });
  // The router's own paths know callers by their certificates as ever.
  const client = askRouter(context, router.origin, cluster);
  await eventuallyReturns(client.status, ({ servers }) => servers.length === 2);

  const { certificateAuthorities: ca, clientCertificate } = cluster.credentials;
  const nobody: TlsCredentials = { ca: ca ?? '' };
  const holder: TlsCredentials = {
    ...nobody,
    cert: clientCertificate.certificate,
    key: clientCertificate.key,
  };
  const arrived = (path: string) => asked.filter(({ url }) => url === path);

  // Beside a token, too: the token may be somebody else's.
  for (const path of [pods, flowSchemas, '/apis', '/openapi/v2', '/metrics']) {
    for (const headers of [{}, forged, { authorization: 'Bearer somebody' }]) {
      const { statusCode, text } = await tlsRequest(`${router.origin}${path}`, holder, { headers });
      assert.equal(statusCode, 401, path);
      assert.match(text, /no front-proxy certificate .* send a bearer token/);
    }
  }
  assert.deepEqual([...arrived(pods), ...arrived(flowSchemas)], []);

  for (const path of [pods, flowSchemas]) {
    for (const headers of [{ authorization: 'Bearer janes', ...forged }, forged]) {
      asked.length = 0;
      await tlsRequest(`${router.origin}${path}`, nobody, { headers });
      const [{ rawHeaders } = assert.fail(path)] = arrived(path);
      assert.deepEqual(
        allHeaders(rawHeaders, 'authorization'),
        'authorization' in headers ? [headers.authorization] : [],
      );
      assert.ok(rawHeaders.every((text) => !/^x-remote-/i.test(text)));
    }
  }
});
