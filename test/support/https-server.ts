import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { everyConnectionOf } from '../../src/node/serving/endpoint-server.ts';

export type HttpListener = (request: IncomingMessage, response: ServerResponse) => unknown;

interface HttpsServer {
  readonly port: number;
  /** Closes everything on it, too. */
  close(): Promise<void>;
}

/**
 * An HTTPS server on loopback, for whoever closes it.
 *
 * @param port default: a free one
 */
export async function openHttpsServer(
  options: ServerOptions,
  listener: HttpListener,
  port = 0,
): Promise<HttpsServer> {
  const server = createServer(options, listener);
  const cutConnections = everyConnectionOf(server);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cutConnections();
      }),
  };
}

/** The same, closed when the test ends. */
export async function httpsServer(
  context: TestContext,
  options: ServerOptions,
  listener: HttpListener,
  port = 0,
): Promise<HttpsServer> {
  const server = await openHttpsServer(options, listener, port);
  context.after(() => server.close());
  return server;
}
