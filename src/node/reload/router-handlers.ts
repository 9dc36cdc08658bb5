import { type AppOptions, createApp } from '../../app.ts';
import type { AssertionKeySet } from '../../identity/assertion/assertion-keys.ts';
import { adminEndpoints } from '../../own-paths/admin-endpoints.ts';
import type { RouterHistory } from '../../own-paths/history/router-history.ts';
import type { RecentDecisions } from '../../own-paths/status/recent-decisions.ts';
import { createRouter } from '../../proxy/create-router.ts';
import type { OutboundOptions } from '../../proxy/delivery/outbound.ts';
import type { ServerLoad } from '../../proxy/delivery/server-choice.ts';
import type { Destination } from '../../request/destination.ts';
import type { RetryBudget } from '../../request/retry.ts';
import type { Logger } from '../../runtime/logger.ts';
import {
  callerIdentification,
  type LastingAuthenticators,
  refuseAuthenticated,
} from '../callers/caller-identification.ts';
import { isTokenGateway, oidcIssuer } from '../callers/destination-identity.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import type { NodeTransport } from '../destinations/node-transport.ts';
import { type ClientCertificateOf, nodeInbound } from '../exchange/node-inbound.ts';
import type { RouterMetrics } from '../metrics/router-metrics.ts';
import type { RequestHandlerOptions } from '../serving/request-handler.ts';
import { type UpgradeListener, upgradeListener } from '../upgrades/upgrade.ts';
import { type LiveConfiguration, processFacts } from './live-configuration.ts';
import type { RequestRecords } from './request-records.ts';
import type { TrafficControl } from './traffic-control.ts';

/** What every request meets first: made from one configuration, immutable, replaced whole. */
export interface RouterHandlers {
  readonly fetch: RequestHandlerOptions['fetch'];
  readonly onUpgrade: UpgradeListener;
  /** What the admin address serves. */
  readonly admin: (request: Request) => Response | Promise<Response>;
}

/** What lives as long as the router, whatever its configuration is. */
export interface RouterParts
  extends Pick<AppOptions, 'routingTable' | 'health' | 'openApiV2' | 'openApiV3'>,
    Required<Pick<AppOptions, 'credentialFiles' | 'advertised'>>,
    Pick<AppOptions, 'embeddedSync'> {
  readonly settings: LiveConfiguration;
  readonly outbound: OutboundOptions & {
    readonly local: Destination | undefined;
    readonly transport: NodeTransport;
    readonly pseudonym: string;
  };
  readonly authenticators: LastingAuthenticators;
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

/** Builds the way in from a configuration. Nothing is opened, so that one that is not used can be dropped. */
export async function createRouterHandlers(
  config: ServeConfig,
  assertionKeys: AssertionKeySet,
  parts: RouterParts,
): Promise<RouterHandlers> {
  const { outbound, traffic, metrics, records, recentDecisions, history, clientCertificateOf, logger } =
    parts;
  const { transport } = outbound;
  const routerOptions = {
    ...outbound,
    ...callerIdentification(config, parts.authenticators),
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
  const facts = processFacts(config);
  const plain = createRouter(routerOptions);
  const router = isTokenGateway(config) ? refuseAuthenticated(plain, logger) : plain;
  const app = createApp({
    ...routerOptions,
    router,
    inbound: nodeInbound,
    // Of the start: what it publishes is what tokens are signed with, whatever the key's file holds by now.
    oidcIssuer: await oidcIssuer(parts.settings.started, assertionKeys),
    allowedCallers: { users: config.allowedUsers, groups: config.allowedGroups },
    credentialFiles: parts.credentialFiles,
    advertised: parts.advertised,
    embeddedSync: parts.embeddedSync,
    settings: parts.settings,
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
    settings: parts.settings,
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

/**
 * The handlers of the moment. A request that is under way ends with those it began with, so that it never meets one
 * half of two configurations.
 */
export class LiveHandlers implements RouterHandlers {
  #current: RouterHandlers;

  constructor(first: RouterHandlers) {
    this.#current = first;
  }

  readonly fetch: RouterHandlers['fetch'] = (request, bindings) => this.#current.fetch(request, bindings);

  readonly onUpgrade: RouterHandlers['onUpgrade'] = (incoming, socket, firstBytes) =>
    this.#current.onUpgrade(incoming, socket, firstBytes);

  readonly admin: RouterHandlers['admin'] = (request) => this.#current.admin(request);

  /** For requests from now on. */
  replace(next: RouterHandlers): void {
    this.#current = next;
  }
}
