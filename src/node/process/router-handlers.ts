import { type AppOptions, createApp } from '../../app.ts';
import type { Authenticator } from '../../identity/authenticator.ts';
import { adminEndpoints, type MetricsSource } from '../../own-paths/metrics-endpoints.ts';
import type { SettingsState } from '../../own-paths/status/status-sources.ts';
import { createRouter } from '../../proxy/router.ts';
import type { Logger } from '../../runtime/logger.ts';
import { isTokenGateway, nodeAuthenticators, refuseAuthenticated } from '../callers/node-authenticators.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import type { LiveCredentials } from '../credentials/live-credentials.ts';
import type { NodeTransport } from '../destinations/node-transport.ts';
import { nodeInbound } from '../exchange/node-inbound.ts';
import { accessLog, accessLogVerbosity } from '../logging/access-log.ts';
import type { RequestHandlerOptions } from '../serving/request-handler.ts';
import { type UpgradeListener, upgradeListener } from '../upgrades/upgrade.ts';
import type { TrafficControl } from './traffic-control.ts';

/** What every request meets first. */
interface RouterHandlers {
  readonly fetch: RequestHandlerOptions['fetch'];
  readonly onUpgrade: UpgradeListener;
  /** What the admin address serves. */
  readonly admin: (request: Request) => Response | Promise<Response>;
}

/** What handlers are made of. */
interface RouterParts {
  /** The options of the app but those that are read from the configuration. */
  readonly app: AppOptions & {
    readonly transport: NodeTransport;
    readonly metrics: MetricsSource;
    readonly logger: Logger;
  };
  /** Remembers which assertions it has seen. */
  readonly assertionAuthenticator: Authenticator | undefined;
  readonly credentials: LiveCredentials;
  readonly settings: SettingsState;
  readonly traffic: TrafficControl;
}

export function createRouterHandlers(
  config: ServeConfig,
  { app: given, assertionAuthenticator, credentials, settings, traffic }: RouterParts,
): RouterHandlers {
  const { transport, logger, observers = [] } = given;
  const options = {
    ...given,
    ...nodeAuthenticators(config, assertionAuthenticator),
    inbound: nodeInbound,
    observers: config.logging.verbosity >= accessLogVerbosity ? [...observers, accessLog(logger)] : observers,
    // Not the configured one: the snapshot may already have the server under another ID.
    preferredVersion: config.preferredVersion,
    enabled: config.featureGateEnabled,
    gate: traffic.gate,
    isShuttingDown: () => traffic.isShuttingDown,
    settings,
  };
  const plain = createRouter(options);
  const router = isTokenGateway(config) ? refuseAuthenticated(plain, logger) : plain;
  const app = createApp({ ...options, router });
  const admin = adminEndpoints(options);
  return {
    fetch: app.fetch,
    admin: (request) => admin.fetch(request),
    onUpgrade: upgradeListener({
      router,
      dialer: transport.dialer,
      clientCertificateOf: credentials.clientCertificateOf,
      headTimeout: config.timeouts.request,
      openStreams: traffic.openStreams,
      deadlines: traffic.deadlines,
      logger,
    }),
  };
}
