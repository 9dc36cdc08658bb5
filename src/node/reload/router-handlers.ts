import { type AppOptions, createApp } from '../../app.ts';
import type { Authenticator } from '../../identity/incoming/authenticator.ts';
import { accessLog, accessLogVerbosity } from '../../observe/access-log.ts';
import { adminEndpoints } from '../../own-paths/admin-endpoints.ts';
import type { SettingsState } from '../../own-paths/status/setting-change.ts';
import { createRouter } from '../../proxy/create-router.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ClientCertificateReader } from '../callers/client-certificate.ts';
import type { RunningJwtAuthenticator } from '../callers/configured-jwt-authenticator.ts';
import { isTokenGateway, oidcIssuer } from '../callers/destination-identity.ts';
import { nodeAuthenticators, refuseAuthenticated } from '../callers/node-authenticators.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import type { NodeTransport } from '../destinations/node-transport.ts';
import { nodeInbound } from '../exchange/node-inbound.ts';
import type { RequestHandlerOptions } from '../serving/request-handler.ts';
import { type UpgradeListener, upgradeListener } from '../upgrades/upgrade.ts';
import type { Credentials } from './credentials.ts';
import type { TrafficControl } from './traffic-control.ts';

/** What every request meets first. */
export interface RouterHandlers {
  readonly fetch: RequestHandlerOptions['fetch'];
  readonly onUpgrade: UpgradeListener;
  /** What the admin address serves. */
  readonly admin: (request: Request) => Response | Promise<Response>;
}

/** What a configuration comes to, of which handlers are made. */
export interface HandlerSettings {
  readonly config: ServeConfig;
  readonly settings: SettingsState;
  readonly credentials: Credentials;
  /** Its own, so that open connections are judged anew: a certificate of an authority that is gone yields no identity. */
  readonly clientCertificates: ClientCertificateReader;
  /** `undefined`: no one's tokens establish callers here. */
  readonly jwt: RunningJwtAuthenticator | undefined;
}

/** What lives as long as the router, whatever its configuration is. */
export interface RouterParts {
  /** The options of the app that no configuration changes. */
  readonly app: AppOptions & { readonly transport: NodeTransport; readonly logger: Logger };
  /** Remembers which assertions it has seen. */
  readonly assertionAuthenticator: Authenticator | undefined;
  readonly traffic: TrafficControl;
}

export async function createRouterHandlers(
  { config, settings, credentials, clientCertificates, jwt }: HandlerSettings,
  { app: lasting, assertionAuthenticator, traffic }: RouterParts,
): Promise<RouterHandlers> {
  const { transport, logger, observers = [] } = lasting;
  // Before the rest: from the local server's ID on, nothing may come in between that changes it.
  const issuer = await oidcIssuer(config, credentials.assertionKeys);
  const options = {
    ...lasting,
    ...nodeAuthenticators(config, assertionAuthenticator, jwt?.authenticator),
    inbound: nodeInbound,
    observers:
      config.logging.verbosity >= accessLogVerbosity
        ? [...observers, accessLog({ logger, clock: () => performance.now() })]
        : observers,
    // Not the configured one: the snapshot may already have the server under another ID.
    serverId: lasting.local?.id,
    localServerDownPolicy: config.localServerDownPolicy,
    extensionRouting: config.extensionRouting,
    preferredVersion: config.preferredVersion,
    enabled: config.featureGateEnabled,
    gate: traffic.gate,
    isShuttingDown: () => traffic.isShuttingDown,
    oidcIssuer: issuer,
    allowedCallers: { users: config.allowedUsers, groups: config.allowedGroups },
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
      clientCertificateOf: (incoming) => clientCertificates.read(incoming),
      headTimeout: config.timeouts.request,
      openStreams: traffic.openStreams,
      deadlines: traffic.deadlines,
      logger,
    }),
  };
}
