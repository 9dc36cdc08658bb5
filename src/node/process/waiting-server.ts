import { statusResponse } from '../../apimachinery/status.ts';
import { type HealthCheck, healthEndpoints, ping } from '../../own-paths/health.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { credentialsOf } from '../credentials/credentials.ts';
import { startAdminServer } from '../serving/endpoint-server.ts';
import { createRouterServer } from '../serving/server.ts';
import { connectionLimitsOf, type Machine, thisMachine } from './traffic-control.ts';

/** What a router waits for that does not know yet in front of which API server it stands. Everyone may ask: no details. */
const waitsFor =
  'this router waits for the identity Lease, or the endpoint, of its API server, by which it learns its ID (--server-id); its log says why';

const serverIdCheck: HealthCheck = { name: 'server-id', check: () => waitsFor, warning: () => waitsFor };

/** Seconds: after that the router may have started. */
const retryAfterSeconds = 2;
const grace = 1_000;

/**
 * Listens where the router will, until that can start: a kubelet sees a process that lives and is not ready, and whoever
 * asks for anything else is told what it waits for.
 * @param config checked, but for the ID of the local server
 * @throws {ServerError} when an address cannot be listened on
 */
export async function startWaitingServer(
  config: ServeConfig,
  logger: Logger,
  machine: Machine = thisMachine,
): Promise<{ close(): Promise<void>; readonly port: number }> {
  const app = healthEndpoints({ livez: [ping], readyz: [ping, serverIdCheck], logger });
  app.all('*', () => statusResponse('ServiceUnavailable', waitsFor, { retryAfterSeconds }));
  const fetch = (request: Request) => app.fetch(request);
  const credentials = credentialsOf(config);
  const server = createRouterServer({
    fetch,
    disableHttp2Serving: config.settings.serving.disableHttp2,
    tls: credentials.server,
    clientCertificateOf: () => ({}),
    // A control plane waits for this router too: clients may end it as little as one that serves.
    limits: { ...connectionLimitsOf(machine), tlsHandshakeTimeout: config.timeouts.tlsHandshake },
    logger,
  });
  const { port } = await server.listen(config.settings.serving.port, config.settings.serving.bindAddress);
  try {
    const admin = await startAdminServer(config, fetch);
    return {
      port,
      async close() {
        await Promise.all([server.close(grace), admin?.close()]);
      },
    };
  } catch (error) {
    await server.close(0);
    throw error;
  }
}
