import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { createServer } from 'node:tls';
import { type Http2Server, type Http2ServerOptions, serveHttp2 } from '../server/fetch-adapter.ts';
import { serving } from './certificate.ts';

/** A TLS server with nothing but the adapter behind it, on a free port; closed at the end of the test. */
export async function startAdapter(
  context: TestContext,
  fetch: Http2ServerOptions['fetch'],
  options: Omit<Http2ServerOptions, 'fetch'> = {},
): Promise<{ port: number; http2: Http2Server }> {
  const http2 = serveHttp2({ fetch, ...options });
  const server = createServer({ ...serving, ALPNProtocols: ['h2'] }, (socket) => http2.take(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  context.after(() => {
    http2.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, http2 };
}

/** Until the server has dealt with all that was sent, and its answers are here. */
export async function settled(session: ClientHttp2Session): Promise<void> {
  if (session.connecting) await once(session, 'connect');
  for (let rounds = 0; rounds < 3; rounds++) {
    await new Promise<void>((resolve, reject) => {
      session.ping((error) => (error === null ? resolve() : reject(error)));
    });
  }
}
