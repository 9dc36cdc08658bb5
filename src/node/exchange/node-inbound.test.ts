import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Hono } from 'hono';
import { askHttp1, askHttp2, http2Client } from '../../../test/support/node-clients.ts';
import { routerPair } from '../../../test/support/node-exchange.ts';
import type { HandlerEnvironment } from '../../request/router.ts';
import { createRouterServer } from '../serving/server.ts';
import { nodeInbound } from './node-inbound.ts';

/** Responses with the target as the adapter gives it. */
function appOfTargets(): Hono<HandlerEnvironment> {
  return new Hono<HandlerEnvironment>().all('*', (context) => context.text(nodeInbound(context).target));
}

test('in a Hono app the adapter gives the target as it stood on the wire', async (context) => {
  const server = createRouterServer({
    fetch: appOfTargets().fetch,
    tls: { cert: routerPair.chain, key: routerPair.privateKey },
    clientCertificateOf: () => ({}),
  });
  const { port } = await server.listen(0, '127.0.0.1');
  context.after(() => server.close(0));
  const path = '/a/../b/%2e%2e/c';
  assert.equal((await askHttp1(port, { path })).body.toString(), path);
  assert.equal((await askHttp2(http2Client(context, port), { path })).body.toString(), path);
});

test('without a server it gives what the web Request still has', async () => {
  const response = await appOfTargets().request('https://router/a/../b?x=1');
  assert.equal(await response.text(), '/b?x=1');
});

test('the connection is told apart by its client certificate, as the given reader sees it', async (context) => {
  const seen: (string | undefined)[] = [];
  const server = createRouterServer({
    fetch: (_request, { inbound }) => {
      const { clientCertificate, clientCertificateError, remoteAddress } = inbound.connection;
      seen.push(clientCertificate?.commonName, clientCertificateError, remoteAddress);
      return new Response();
    },
    tls: { cert: routerPair.chain, key: routerPair.privateKey },
    clientCertificateOf: () => ({
      clientCertificate: { commonName: 'alice', organizations: [], authority: 'client-ca' },
    }),
  });
  const { port } = await server.listen(0, '127.0.0.1');
  context.after(() => server.close(0));
  const session = http2Client(context, port);
  await once(session, 'connect');
  await askHttp2(session);
  await askHttp1(port);
  assert.deepEqual(seen, ['alice', undefined, '127.0.0.1', 'alice', undefined, '127.0.0.1']);
});
