import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { TestContext } from 'node:test';
import { listenOnLoopback } from '../listen-on-loopback.ts';

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
  const { port: bound, stop } = await listenOnLoopback(createServer(options, listener), port);
  return { port: bound, close: stop };
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
