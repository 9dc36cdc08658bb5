import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

export type HttpListener = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * An HTTPS server on loopback, closed with everything on it when the test ends.
 *
 * @param port default: a free one
 */
export async function httpsServer(
  context: TestContext,
  options: ServerOptions,
  listener: HttpListener,
  port = 0,
): Promise<{ readonly port: number }> {
  const server = createServer(options, listener);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  context.after(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { port: (server.address() as AddressInfo).port };
}
