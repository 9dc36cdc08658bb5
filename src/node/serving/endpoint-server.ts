import { once } from 'node:events';
import { createServer, type ServerOptions } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import type { ServeConfig, TlsParameters } from '../configuration/serve-config.ts';
import { isLoopback } from './default-interface.ts';
import { certificateError, listenError } from './server-error.ts';

interface EndpointTls extends TlsParameters {
  readonly certificate: string;
  readonly key: string;
}

interface EndpointServerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls?: EndpointTls | undefined;
  readonly fetch: (request: Request) => Response | Promise<Response>;
  readonly flag: `--${string}`;
}

export interface EndpointServer {
  readonly origin: string;
  /** For new connections. @throws {ServerError} `InvalidServingCertificate`; the old pair stays in use then */
  setCertificate(tls: EndpointTls): void;
  close(): Promise<void>;
}

/** A few clients ask every few seconds: low limits suffice. */
const limits: ServerOptions = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  // Node's default.
  maxHeaderSize: 16 * 1024,
};
const maximumConnections = 256;

export async function startEndpointServer(options: EndpointServerOptions): Promise<EndpointServer> {
  const { host, port, tls, fetch, flag } = options;
  const listener = getRequestListener(fetch, { overrideGlobalObjects: false });
  const secure = tls === undefined ? undefined : newTlsServer(tls, listener);
  const server = secure ?? createServer(limits, listener);
  server.maxConnections = maximumConnections;
  const cutConnections = everyConnectionOf(server);
  try {
    await once(server.listen(port, host), 'listening');
  } catch (error) {
    throw listenError(error as Error, host, port, flag);
  }
  const address = server.address() as AddressInfo;
  const scheme = secure === undefined ? 'http' : 'https';
  return {
    origin: `${scheme}://${joinHostPort(host, address.port)}`,
    setCertificate(next) {
      try {
        secure?.setSecureContext(contextOf(next));
      } catch (error) {
        throw certificateError(error);
      }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cutConnections();
      }),
  };
}

/**
 * Listens at the admin address: plain HTTP where only this host can ask, else HTTPS with the serving pair, so that
 * nothing of the router's state crosses a network in the clear. `undefined` without such an address.
 * @throws {ServerError} when it cannot be listened on.
 */
export async function startAdminServer(
  { settings }: Pick<ServeConfig, 'settings'>,
  fetch: EndpointServerOptions['fetch'],
  serving: EndpointTls,
): Promise<EndpointServer | undefined> {
  const { bindAddress } = settings.admin;
  if (bindAddress === undefined) return undefined;
  const { host, port } = bindAddress;
  const tls = isLoopback(host) ? undefined : serving;
  return startEndpointServer({ host, port, tls, fetch, flag: '--admin-bind-address' });
}

function newTlsServer(tls: EndpointTls, listener: ReturnType<typeof getRequestListener>): TlsServer {
  try {
    return createTlsServer({ ...limits, ...contextOf(tls), handshakeTimeout: 10_000 }, listener);
  } catch (error) {
    throw certificateError(error);
  }
}

function contextOf({ certificate: cert, key, ...parameters }: EndpointTls) {
  return { cert, key, ...parameters };
}

/**
 * Tracks all connections of a server. Node's own `closeAllConnections` misses connections during their TLS handshake,
 * and `close` would wait for them.
 * @returns destroys all of them
 */
export function everyConnectionOf(server: Server): () => void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}
