import type { ServeConfig, TlsParameters } from '../configuration/serve-config.ts';
import type { PemPair } from '../reload/live-credentials.ts';
import type { RouterHandlers } from '../reload/router-handlers.ts';
import { isLoopback } from '../serving/default-interface.ts';
import { type EndpointServer, startEndpointServer } from '../serving/endpoint-server.ts';

/**
 * Listens at the admin address: plain HTTP where only this host can ask, else HTTPS with the serving pair, so that
 * nothing of the router's state crosses a network in the clear. `undefined` without such an address.
 * @throws {ServerError} when it cannot be listened on.
 */
export async function startAdminServer(
  { admin }: Pick<ServeConfig, 'admin'>,
  { admin: fetch }: Pick<RouterHandlers, 'admin'>,
  serving: PemPair & TlsParameters,
): Promise<EndpointServer | undefined> {
  if (admin === undefined) return undefined;
  const { host, port } = admin;
  const tls = isLoopback(host) ? undefined : serving;
  return startEndpointServer({ host, port, tls, fetch, flag: '--admin-bind-address' });
}
