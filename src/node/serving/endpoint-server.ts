import { once } from 'node:events';
import { createServer, type ServerOptions } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { listenError } from './server-error.ts';

interface EndpointServerOptions {
  readonly host: string;
  readonly port: number;
  readonly fetch: (request: Request) => Response | Promise<Response>;
  readonly flag: `--${string}`;
}

export interface EndpointServer {
  readonly origin: string;
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

/** Plain HTTP, of health and metrics alone. @throws {ServerError} when the address cannot be listened on */
export async function startEndpointServer(options: EndpointServerOptions): Promise<EndpointServer> {
  const { host, port, fetch, flag } = options;
  const server = createServer(limits, getRequestListener(fetch, { overrideGlobalObjects: false }));
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    // The one that has been open longest makes room, so that nobody keeps probes out: each request here takes milliseconds.
    const [oldest] = open;
    if (open.size >= maximumConnections) oldest?.destroy();
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  try {
    await once(server.listen(port, host), 'listening');
  } catch (error) {
    throw listenError(error as Error, host, port, flag);
  }
  const address = server.address() as AddressInfo;
  return {
    origin: `http://${joinHostPort(host, address.port)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** At the admin address, `undefined` without one. @throws {ServerError} when it cannot be listened on */
export async function startAdminServer(
  { settings }: Pick<ServeConfig, 'settings'>,
  fetch: EndpointServerOptions['fetch'],
): Promise<EndpointServer | undefined> {
  const { bindAddress } = settings.admin;
  return bindAddress && startEndpointServer({ ...bindAddress, fetch, flag: '--admin-bind-address' });
}
