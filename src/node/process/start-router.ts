import { createApp } from '../../app.ts';
import { prewarmDiscovery } from '../../discovery/documents.ts';
import { RouterHistory } from '../../own-paths/history/router-history.ts';
import { adminEndpoints } from '../../own-paths/metrics-endpoints.ts';
import type { EmbeddedSyncStatus } from '../../own-paths/status/status-sources.ts';
import { resolveOptions } from '../../proxy/options.ts';
import { RetryBudget } from '../../proxy/other-servers.ts';
import { createRouter } from '../../proxy/router.ts';
import { destinationsOf, ServerLoad } from '../../proxy/server-choice.ts';
import { accessLog } from '../../request/access-log.ts';
import { newPseudonym } from '../../request/headers.ts';
import { comingPreference, ledByPreference, preferredMinor } from '../../routing/preferred-version.ts';
import type { Logger, LogVerbosity } from '../../runtime/logger.ts';
import { steadyNow } from '../../runtime/time.ts';
import { createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import { OwnSnapshotReceiver } from '../../snapshot/receiving/own-receiver.ts';
import { type PushResult, SnapshotReceiver } from '../../snapshot/receiving/receiver.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { countsAfter, versionSettlesFor } from '../../snapshot/routing-table/version-instants.ts';
import type { SyncObserver } from '../../sync/sync-server.ts';
import {
  assertionAuthenticator,
  isTokenGateway,
  nodeAuthenticators,
  refuseAuthenticated,
} from '../callers/node-authenticators.ts';
import type { RunningRouter, ServeConfig } from '../configuration/serve-config.ts';
import { CredentialWatch, type ExpiringCertificate } from '../credentials/credential-watch.ts';
import {
  type ConfigurationSource,
  credentialsOf,
  LiveCredentials,
  localDestination,
  watchRouterFiles,
} from '../credentials/credentials.ts';
import { NodeTransport } from '../destinations/node-transport.ts';
import { nodeInbound } from '../exchange/node-inbound.ts';
import { createFileSnapshotStore } from '../files/file-snapshot-store.ts';
import { RouterMetrics } from '../metrics/router-metrics.ts';
import { advertisedServer } from '../serving/default-interface.ts';
import { startAdminServer } from '../serving/endpoint-server.ts';
import { createRouterServer } from '../serving/server.ts';
import { upgradeListener } from '../upgrades/upgrade.ts';
import { followServers, ownServerCheck } from './followed-servers.ts';
import { createLocalServerId } from './local-server-id.ts';
import type { ProcessEdge } from './process-edge.ts';
import { streamLimitOf, TrafficControl, thisMachine } from './traffic-control.ts';

export interface EmbeddedSyncParts {
  readonly receiver: OwnSnapshotReceiver;
  /** The router's name in `Via`, so that it refuses a question of its own that comes back to it. */
  readonly pseudonym: string;
  readonly observer: SyncObserver | undefined;
  readonly logger: Logger;
  readonly edge: Partial<Pick<ProcessEdge, 'openClient' | 'readFile' | 'networkInterfaces'>>;
}

export interface EmbeddedSync {
  /**
   * Makes ready what a configuration says, without any effect yet.
   * @returns how to go by it from now on
   * @throws {Error} when its kubeconfig cannot be used
   */
  prepare(config: ServeConfig): Promise<() => void>;
  hurry(): void;
  status(): EmbeddedSyncStatus;
  /** The certificate and the token of its kubeconfig, as they are now, where they say when they expire. */
  expiring(): Promise<readonly ExpiringCertificate[]>;
  stop(): Promise<void>;
}

/** Makes one. It stands above this folder (src/sync/node/embedded-sync.ts), so the caller that starts the router passes it in. */
export type OpenEmbeddedSync = (parts: EmbeddedSyncParts) => EmbeddedSync;

function embeddedSyncOf(open: OpenEmbeddedSync | undefined, parts: EmbeddedSyncParts): EmbeddedSync {
  if (open === undefined) throw new TypeError('To read a cluster, startRouter needs openEmbeddedSync.');
  return open(parts);
}

export interface StartOptions {
  /** Where the configuration comes from, and is read again when its files change. Default: they are not looked at again. */
  readonly configurationSource?: ConfigurationSource | undefined;
  /** Reads the cluster in this process, where the configuration asks for it (`openEmbeddedSync`). */
  readonly openEmbeddedSync?: OpenEmbeddedSync | undefined;
  /** That of `logger`, which the own path `debug/flags/v` changes. Default: there is no such path. */
  readonly logVerbosity?: LogVerbosity | undefined;
  /** Default: Node's own sockets and files, and this machine. */
  readonly edge?: ProcessEdge | undefined;
}

/** Milliseconds over which watches move to servers of another version: every client opens a new one at once. */
const watchesMovedOver = 5_000;
/** A timer may fire a millisecond early. */
const timerSlack = 5;

/**
 * Puts a router together from its configuration and starts it. Resolves once it listens; a snapshot that
 * outlived the last run is in use by then.
 * @throws when the address cannot be listened on, or a certificate or key cannot be used.
 *
 * @example
 * ```ts
 * const router = await startRouter(config, logger);
 * console.log(router.origin.startsWith('https://127.0.0.1:')); // true
 * await router.close(1_000);
 * ```
 */
export async function startRouter(
  config: ServeConfig,
  logger: Logger,
  options: StartOptions = {},
): Promise<RunningRouter> {
  const opened: Opened = [];
  try {
    return await start(config, logger, options, opened);
  } catch (error) {
    // A restored snapshot has connections opened already, which would keep the process alive.
    await closeAll(opened);
    throw error;
  }
}

type Opened = (() => void | Promise<void>)[];

async function closeAll(opened: Opened): Promise<void> {
  for (const close of opened.toReversed()) await close();
}

/** Milliseconds for a name and the TCP connection to a server. */
const dialTimeout = 5_000;

async function start(
  config: ServeConfig,
  logger: Logger,
  { configurationSource, openEmbeddedSync, logVerbosity, edge = {} }: StartOptions,
  opened: Opened,
): Promise<RunningRouter> {
  const { preferredVersion } = config.settings.routing;
  const {
    openServer = createRouterServer,
    openStore = createFileSnapshotStore,
    machine = thisMachine,
  } = edge;
  let listeningPort: number | undefined;
  const credentials = new LiveCredentials(credentialsOf(config));
  const addressPolicy = createAddressPolicy(config.settings.peers);
  const { readFile } = edge;
  const credentialWatch = new CredentialWatch({
    logger,
    ...(readFile && { read: async (path) => readFile(path) }),
    further: async () => embeddedSync?.expiring() ?? [],
  });
  const traffic = new TrafficControl(config, logger, machine);
  opened.push(() => traffic.deadlines.stop());
  const metrics = new RouterMetrics(config, {
    table: () => receiver.current(),
    refusedAddresses: () => [
      ...receiver.refusedAddresses,
      ...(embeddedSync?.status().refusedAddresses ?? []),
    ],
    credentialFiles: credentialWatch,
    embeddedSync: () => embeddedSync?.status(),
    inFlight: (id, kind) => load.counts(id, kind).inFlight,
    retryBudget: () => retryBudget.left,
    health: () => servers?.health.reports() ?? [],
  });
  const transport = new NodeTransport({
    onDialFailed: (destination, error) => metrics.dialFailed(destination, error),
    tlsHandshakeTimeout: config.timeouts.tlsHandshake,
    // What no other server can be asked for waits for --request-timeout, which the API server has, too.
    headTimeout: 0,
    openStreams: traffic.openStreams,
    credentials: credentials.current.transport,
    connectTimeout: dialTimeout,
    readSilence: config.timeouts.responseHeader,
    addressPolicy,
    openPool: edge.openPool,
    onBrokenOff: (origin) => servers?.brokenOff(origin),
    onGoAway: (origin) => servers?.goneAway(origin),
    onConnectionLost: (origin) => servers?.connectionLost(origin),
  });
  opened.push(() => transport.close());
  const { file } = config.settings.snapshot;
  const receiverOptions = {
    store: file === undefined ? undefined : openStore(file, config.embeddedSync !== undefined),
    keys: () => credentials.current.snapshotKeys,
    cluster: config.settings.snapshot.cluster,
    addressPolicy,
    logger,
    onPush: (result: PushResult) => metrics.snapshotPushed(result),
    serverConfirmedAt:
      config.health && ((id: string, origin: string | undefined) => servers?.serverConfirmedAt(id, origin)),
  };
  const ownReceiver = config.embeddedSync && new OwnSnapshotReceiver(receiverOptions);
  const receiver = ownReceiver ?? new SnapshotReceiver(receiverOptions);
  opened.push(() => receiver.settled());
  const localServerId = createLocalServerId(config, () => listeningPort, receiver, edge.networkInterfaces);
  const outboundOptions = {
    local: localDestination(config, localServerId, () => credentials.current),
    transport,
    identityHeaderNames: config.identityHeaderNames,
    pseudonym: newPseudonym(),
  };
  const load = new ServerLoad(() => performance.now());
  const servers =
    config.health &&
    followServers({
      ...outboundOptions,
      answersOf: (id) => ({
        awaiting: load.counts(id, 'short').inFlight,
        responses: load.counts(id, 'short').responses + load.counts(id, 'longRunning').responses,
      }),
      config: config.health,
      endConnections: (destination, how) => transport.endConnections(destination, how),
      onChanged: () => embeddedSync?.hurry(),
      logger,
    });
  // Before the transport, whose end would look like the servers'.
  if (servers !== undefined) opened.push(() => servers.stop());
  servers?.health.observe(metrics);
  const embeddedSync =
    ownReceiver &&
    embeddedSyncOf(openEmbeddedSync, {
      receiver: ownReceiver,
      pseudonym: outboundOptions.pseudonym,
      observer: metrics.sync,
      logger,
      edge,
    });
  const checkOwnServer = localServerId && ownServerCheck(localServerId, logger);
  const history = new RouterHistory({
    preferredMinor: (table) => preferredMinor(table, preferredVersion, steadyNow()),
  });
  servers?.health.observe(history);
  const prepareDocuments = (table: RoutingTable): void => {
    prewarmDiscovery(ledByPreference(table, preferredVersion, steadyNow())).catch((error: unknown) => {
      logger.error({ err: error }, 'The merged discovery documents could not be built');
    });
  };
  let last: RoutingTable | undefined;
  let preferenceTimer: NodeJS.Timeout | undefined;
  let waitTimer: NodeJS.Timeout | undefined;
  opened.push(() => {
    clearTimeout(preferenceTimer);
    clearTimeout(waitTimer);
  });
  /** What follows from another preferred version, at the instant that the snapshot foresees. */
  const followPreference = (table: RoutingTable): void => {
    clearTimeout(preferenceTimer);
    clearTimeout(waitTimer);
    const now = steadyNow();
    const coming = comingPreference(table, preferredVersion, now);
    if (coming === undefined) return;
    // Watches end before another router may write to the new version. Else they show objects without the new fields for a
    // while, and a client that writes such an object removes the fields. `Router.settled` opens them again at the new version.
    const watchesEndBy = coming.waitFrom + versionSettlesFor;
    waitTimer = setTimeout(
      () => traffic.openStreams.endMisplaced({ over: Math.max(0, watchesEndBy - steadyNow()) }),
      Math.max(0, coming.waitFrom - now) + timerSlack,
    ).unref();
    preferenceTimer = setTimeout(() => {
      history.tableInUse(table);
      traffic.openStreams.endMisplaced({ over: watchesMovedOver });
      if (config.featureGateEnabled) prepareDocuments(table);
      followPreference(table);
    }, coming.at - now).unref();
  };
  const endListening = receiver.onChange((table) => {
    checkOwnServer?.(table);
    servers?.follow(table);
    const destinations = destinationsOf(outboundOptions.local, table);
    transport.retainDestinations(destinations);
    metrics.tableInUse(table, destinations);
    history.tableInUse(table);
    // In a cluster of one version there is no other place for a watch.
    const couldMove = table.comparison !== undefined || last?.comparison !== undefined;
    if (couldMove && table.snapshot !== last?.snapshot) {
      traffic.openStreams.endMisplaced({ over: watchesMovedOver });
    }
    last = table;
    followPreference(table);
    if (config.featureGateEnabled) prepareDocuments(table);
  });
  // A snapshot that is taken while the router ends would have its servers probed for ever.
  opened.push(endListening);
  const startedAt = performance.now();
  const isAwaited = () =>
    receiver.current() === undefined && performance.now() - startedAt < countsAfter + versionSettlesFor;
  const retryBudget = new RetryBudget();
  const assertions = assertionAuthenticator(localServerId, () => credentials.current.assertionKeys, logger);
  const routerOptions = resolveOptions({
    ...outboundOptions,
    ...nodeAuthenticators(config, assertions),
    inbound: nodeInbound,
    preferredVersion,
    enabled: config.featureGateEnabled,
    gate: traffic.gate,
    isShuttingDown: () => traffic.isShuttingDown,
    found: config.found,
    retryBudget,
    load,
    health: servers?.health,
    // It is told of each change, but not whether it is told in time: the servers themselves say so.
    routingTable: servers
      ? Object.assign(receiver, {
          confirmedAt: servers.confirmedAt,
          unconfirmed: servers.unconfirmed,
          isAwaited,
        })
      : receiver,
    credentialFiles: credentialWatch,
    embeddedSync: embeddedSync?.status,
    // Under the ID that the sync job knows the server by.
    advertised: () => advertisedServer({ ...config, serverId: localServerId?.() }, listeningPort),
    history,
    metrics,
    logVerbosity,
    observers: [
      metrics.requests,
      history,
      accessLog(logger, logVerbosity ?? { level: config.settings.logging.verbosity }),
    ],
    logger,
  });
  const plain = createRouter(routerOptions);
  const router = isTokenGateway(config) ? refuseAuthenticated(plain, logger) : plain;
  const { fetch } = createApp({ ...routerOptions, router });
  const onUpgrade = upgradeListener({
    router,
    dialer: transport.dialer,
    clientCertificateOf: credentials.clientCertificateOf,
    headTimeout: config.settings.timeouts.request,
    openStreams: traffic.openStreams,
    deadlines: traffic.deadlines,
    logger,
  });
  const server = openServer({
    fetch,
    disableHttp2Serving: config.settings.serving.disableHttp2,
    tls: credentials.current.server,
    clientCertificateOf: credentials.clientCertificateOf,
    onUpgrade,
    deadlines: traffic.deadlines,
    goawayChance: config.settings.limits.goawayChance,
    limits: {
      ...traffic.connectionLimits,
      ...streamLimitOf(config),
      tlsHandshakeTimeout: config.timeouts.tlsHandshake,
    },
    onRelief: (relief) => metrics.relieved(relief),
    logger,
  });
  await receiver.restore();
  // The local server is known from the start.
  if (receiver.current() === undefined) servers?.follow(undefined);
  const endpoints = adminEndpoints(routerOptions);
  const admin = await startAdminServer(config, (request) => endpoints.fetch(request));
  if (admin !== undefined) {
    opened.push(() => admin.close());
    logger.info({ origin: admin.origin }, 'Health and metrics');
  }
  if (configurationSource !== undefined) {
    const users = {
      live: credentials,
      server,
      transport,
      prepareSync: embeddedSync && ((next: ServeConfig) => embeddedSync.prepare(next)),
    };
    watchRouterFiles(config, users, configurationSource, credentialWatch);
  }
  // With all else there is: what it makes is used by nothing yet, and an error ends the start.
  const readCluster = await embeddedSync?.prepare(config);
  const { bindAddress } = config.settings.serving;
  const { port } = await server.listen(config.settings.serving.port, bindAddress);
  listeningPort = port;
  if (embeddedSync !== undefined) opened.push(() => embeddedSync.stop());
  if (config.featureGateEnabled && receiver.current() === undefined) {
    logger.warn(
      { comesFrom: embeddedSync === undefined ? 'a push of the sync job' : 'the cluster, which is read now' },
      'There is no snapshot yet: the router is not ready',
    );
  }
  readCluster?.();
  credentialWatch.start();
  return {
    origin: `https://${joinHostPort(bindAddress, port)}`,
    adminOrigin: admin?.origin,
    async reload() {
      await credentialWatch.reload();
    },
    async shutdown() {
      await traffic.shutDown(server);
      credentialWatch.stop();
      await closeAll(opened);
    },
    async close(graceMilliseconds = 10_000) {
      credentialWatch.stop();
      await server.close(graceMilliseconds);
      await closeAll(opened);
    },
  };
}
