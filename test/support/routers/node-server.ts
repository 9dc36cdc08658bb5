import type { TestContext } from 'node:test';
import type { NodeBindings } from '../../../src/node/exchange/node-inbound.ts';
import {
  createRouterServer,
  type RouterServer,
  type RouterServerOptions,
} from '../../../src/node/serving/server.ts';
import { routerPair } from '../api-servers/node-exchange.ts';

/** As if each client had shown a certificate that was verified, of whom longer heads are taken. */
export const everyoneVerified: RouterServerOptions['clientCertificateOf'] = () => ({
  clientCertificate: { commonName: 'user', organizations: [], authority: 'client-ca' },
});

/** The serving pair of the router. */
export const servingTls = { cert: routerPair.chain, key: routerPair.privateKey };

/** A server without a router, on a free port; closed at the end of the test. */
export async function startServer(
  context: TestContext,
  fetch: RouterServerOptions['fetch'],
  options: Partial<RouterServerOptions> = {},
): Promise<{ port: number; server: RouterServer }> {
  const server = createRouterServer({
    fetch,
    tls: servingTls,
    clientCertificateOf: () => ({}),
    ...options,
  });
  const { port } = await server.listen(0, '127.0.0.1');
  context.after(() => server.close(0));
  return { port, server };
}

/** Answers with what reached the handler. */
export const mirror = (_request: Request, { inbound }: NodeBindings): Response =>
  Response.json({ target: inbound.target, headers: inbound.headers, hasBody: inbound.hasContent });
