import { type AppOptions, createApp } from '../../app.ts';
import type { Authenticator } from '../../identity/incoming/authenticator.ts';
import { adminEndpoints } from '../../own-paths/admin-endpoints.ts';
import type { RouterHistory } from '../../own-paths/history/router-history.ts';
import type { RecentDecisions } from '../../own-paths/status/recent-decisions.ts';
import type { SettingsState } from '../../own-paths/status/setting-change.ts';
import type { ProcessFacts } from '../../own-paths/z-pages.ts';
import { createRouter } from '../../proxy/create-router.ts';
import type { OutboundOptions } from '../../proxy/delivery/outbound.ts';
import type { ServerLoad } from '../../proxy/delivery/server-choice.ts';
import type { Destination } from '../../request/destination.ts';
import type { RetryBudget } from '../../request/retry.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { RunningJwtAuthenticator } from '../callers/configured-jwt-authenticator.ts';
import { isTokenGateway, oidcIssuer } from '../callers/destination-identity.ts';
import { nodeAuthenticators, refuseAuthenticated } from '../callers/node-authenticators.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import type { NodeTransport } from '../destinations/node-transport.ts';
import { type ClientCertificateOf, nodeInbound } from '../exchange/node-inbound.ts';
import type { RouterMetrics } from '../metrics/router-metrics.ts';
import type { RequestHandlerOptions } from '../serving/request-handler.ts';
import { type UpgradeListener, upgradeListener } from '../upgrades/upgrade.ts';
import type { Credentials } from './credentials.ts';
import type { RequestRecords } from './request-records.ts';
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
  readonly facts: ProcessFacts;
  readonly credentials: Credentials;
  /** `undefined`: no one's tokens establish callers here. */
  readonly jwt: RunningJwtAuthenticator | undefined;
}

/** What lives as long as the router, whatever its configuration is. */
export interface RouterParts
  extends Pick<AppOptions, 'routingTable' | 'health' | 'openApiV2' | 'openApiV3'>,
    Required<Pick<AppOptions, 'credentialFiles' | 'advertised'>>,
    Pick<AppOptions, 'embeddedSync'> {
  readonly outbound: OutboundOptions & {
    readonly local: Destination | undefined;
    readonly transport: NodeTransport;
    readonly pseudonym: string;
  };
  /** Remembers which assertions it has seen. */
  readonly assertionAuthenticator: Authenticator | undefined;
  readonly load: ServerLoad;
  readonly retryBudget: RetryBudget;
  readonly traffic: TrafficControl;
  readonly metrics: RouterMetrics | undefined;
  readonly records: RequestRecords;
  readonly recentDecisions: RecentDecisions;
  readonly history: RouterHistory;
  readonly clientCertificateOf: ClientCertificateOf;
  readonly logger: Logger;
}

export async function createRouterHandlers(
  { config, settings, facts, credentials, jwt }: HandlerSettings,
  parts: RouterParts,
): Promise<RouterHandlers> {
  const { outbound, traffic, metrics, records, recentDecisions, history, clientCertificateOf, logger } =
    parts;
  const { transport } = outbound;
  const routerOptions = {
    ...outbound,
    ...nodeAuthenticators(config, parts.assertionAuthenticator, jwt?.authenticator),
    retryBudget: parts.retryBudget,
    load: parts.load,
    observers: [
      ...(metrics === undefined ? [] : [metrics.requests]),
      recentDecisions,
      history,
      ...records.observers(config),
    ],
    serverId: config.serverId,
    health: parts.health,
    localServerDownPolicy: config.localServerDownPolicy,
    routingTable: parts.routingTable,
    openApiV2: parts.openApiV2,
    openApiV3: parts.openApiV3,
    stalePolicy: config.snapshot.stalePolicy,
    extensionRouting: config.extensionRouting,
    preferredVersion: config.preferredVersion,
    enabled: config.featureGateEnabled,
    gate: traffic.gate,
    logger,
  };
  const plain = createRouter(routerOptions);
  const router = isTokenGateway(config) ? refuseAuthenticated(plain, logger) : plain;
  const app = createApp({
    ...routerOptions,
    router,
    inbound: nodeInbound,
    oidcIssuer: await oidcIssuer(config, credentials.assertionKeys),
    allowedCallers: { users: config.allowedUsers, groups: config.allowedGroups },
    credentialFiles: parts.credentialFiles,
    advertised: parts.advertised,
    embeddedSync: parts.embeddedSync,
    settings,
    recentDecisions,
    history,
    isShuttingDown: () => traffic.isShuttingDown,
    metrics,
    processFacts: facts,
  });
  const admin = adminEndpoints({
    ...routerOptions,
    snapshots: parts.routingTable,
    advertised: parts.advertised,
    credentialFiles: parts.credentialFiles,
    embeddedSync: parts.embeddedSync,
    settings,
    isShuttingDown: () => traffic.isShuttingDown,
    metrics,
    processFacts: facts,
  });
  return {
    fetch: app.fetch,
    admin: (request) => admin.fetch(request),
    onUpgrade: upgradeListener({
      router,
      dialer: transport.dialer,
      clientCertificateOf,
      headTimeout: config.timeouts.request,
      openStreams: traffic.openStreams,
      deadlines: traffic.deadlines,
      logger,
    }),
  };
}
