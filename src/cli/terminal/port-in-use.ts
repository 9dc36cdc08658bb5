import { once } from 'node:events';
import { createServer } from 'node:net';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { listenError } from '../../node/serving/server-error.ts';

/**
 * What would keep the router from listening now. Only doubtful: a dry run is also made beside the router that runs, which
 * is then what listens there.
 */
export async function portInUse({
  bindAddress: host,
  securePort: port,
  reusePort,
}: Pick<ServeConfig, 'bindAddress' | 'securePort' | 'reusePort'>): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port, reusePort });
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return undefined;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const { code, message } = listenError(error, host, port);
    const own = code === 'AddressInUse' ? ' (nothing to do if it is this router that runs there)' : '';
    return `--secure-port: ${message}${own}`;
  }
}
