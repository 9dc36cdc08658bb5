import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthority } from '../../../test/support/certificates.ts';
import { httpsServer } from '../../../test/support/https-server.ts';
import { responseOf } from '../../request/transport.ts';
import { NodeTransport } from './node-transport.ts';

test('a peer that stalls in the middle of a response keeps its reader waiting, not busy', async (context) => {
  const authority = await createAuthority('cluster');
  const serving = await authority.issue({ dnsNames: ['kubernetes.default.svc'], usage: 'server' });
  const resumed = Promise.withResolvers<void>();
  const { port } = await httpsServer(
    context,
    { cert: serving.certificate, key: serving.privateKey },
    async (_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('first');
      await resumed.promise;
      response.end('other');
    },
  );
  const transport = new NodeTransport({
    credentials: { peerCertificateAuthorities: authority.certificate, frontProxy: undefined },
  });
  context.after(() => transport.close());
  const result = await transport.send(
    {
      destination: {
        kind: 'peer',
        id: 'peer',
        origin: `https://127.0.0.1:${port}`,
        serverName: 'kubernetes.default.svc',
        trust: { kind: 'peer-ca' },
      },
      method: 'GET',
      target: '/openapi/v2',
      headers: [],
      presentFrontProxyCertificate: false,
      longRunning: false,
    },
    {
      method: 'GET',
      target: '/openapi/v2',
      headers: [],
      connection: {},
      body: () => null,
      signal: new AbortController().signal,
    },
    ({ headers }) => ({ kind: 'forward', headers }),
  );
  const reader = responseOf(result).body?.getReader();
  const chunks: string[] = [];
  const next = async () => {
    const result = await reader?.read();
    if (result?.value !== undefined) chunks.push(new TextDecoder().decode(result.value));
    return result?.done === true;
  };
  await next();
  const rest = next();
  // The reader waits by now: what it is given before the peer goes on is nothing the peer has sent.
  await new Promise((resolve) => setImmediate(resolve));
  resumed.resolve();
  await rest;
  while (!(await next()));
  assert.deepEqual(chunks, ['first', 'other']);
});
