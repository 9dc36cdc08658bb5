import { prewarmDiscovery } from '../../discovery/documents.ts';
import { RouterHistory } from '../../own-paths/history/router-history.ts';
import { RecentDecisions } from '../../own-paths/status/recent-decisions.ts';
import type { SettingChange } from '../../own-paths/status/status-sources.ts';
import { RetryBudget } from '../../proxy/delivery/other-servers.ts';
import { destinationsOf, ServerLoad } from '../../proxy/delivery/server-choice.ts';
import { newPseudonym } from '../../request/headers.ts';
import { comingPreference, ledByPreference, preferredMinor } from '../../routing/preferred-version.ts';
import type { Logger } from '../../runtime/logger.ts';
import { createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import { SnapshotReceiver } from '../../snapshot/receiving/receiver.ts';
import { createMemorySnapshotStore } from '../../snapshot/receiving/snapshot-store.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { assertionAuthenticator } from '../callers/node-authenticators.ts';
import type { RunningRouter, ServeConfig } from '../configuration/serve-config.ts';
import { CredentialWatch } from '../credentials/credential-watch.ts';
import { credentialsOf, localDestination } from '../credentials/credentials.ts';
import { LiveCredentials } from '../credentials/live-credentials.ts';
import { type ConfigurationSource, watchRouterFiles } from '../credentials/watch-router-files.ts';
import { NodeTransport } from '../destinations/node-transport.ts';
import { createFileSnapshotStore } from '../files/file-snapshot-store.ts';
import { followServers, ownServerCheck } from '../health/followed-servers.ts';
import { RouterMetrics } from '../metrics/router-metrics.ts';
import { advertisedServer } from '../serving/default-interface.ts';
import { startAdminServer } from '../serving/endpoint-server.ts';
import { createRouterServer } from '../serving/server.ts';
import { createLocalServerId } from './local-server-id.ts';
import { embeddedSyncOf, type OpenEmbeddedSync } from './open-embedded-sync.ts';
import { createRouterHandlers } from './router-handlers.ts';
import { TrafficControl } from './traffic-control.ts';

export interface StartOptions {
  /** Where the configuration comes from, and is read again when its files change. Default: they are not looked at again. */
  readonly configurationSource?: ConfigurationSource | undefined;
  /** Reads the cluster in this process, where the configuration asks for it (`openEmbeddedSync`). */
  readonly openEmbeddedSync?: OpenEmbeddedSync | undefined;
}

/** Milliseconds over which watches move to servers of another version: every client opens a new one at once. */
const watchesMovedOver = 5_000;

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

/** The last opened first. */
async function closeAll(opened: Opened): Promise<void> {
  for (const close of opened.toReversed()) await close();
}

async function start(
  config: ServeConfig,
  logger: Logger,
  { configurationSource, openEmbeddedSync }: StartOptions,
  opened: Opened,
): Promise<RunningRouter> {
  let listeningPort: number | undefined;
  let changedSettings: readonly SettingChange[] = [];
  const settings = { needsRestart: () => changedSettings, found: () => config.commandLine.found };
  const credentials = new LiveCredentials(credentialsOf(config));
  const addressPolicy = createAddressPolicy(config.peerAddresses);
  const credentialWatch = new CredentialWatch(logger, async () => embeddedSync?.expiring() ?? []);
  const traffic = new TrafficControl(config, logger);
  opened.push(() => traffic.deadlines.stop());
  const metrics = new RouterMetrics(config, {
    table: () => receiver.current(),
    credentialFiles: credentialWatch.status,
    needsRestart: settings.needsRestart,
    embeddedSync: () => embeddedSync?.status(),
    inFlight: (id) => load.inFlight(id),
    retryBudget: () => retryBudget.left,
    health: () => servers?.health.reports() ?? [],
  });
  const transport = new NodeTransport({
    dialObserver: metrics.connections,
    tlsHandshakeTimeout: config.timeouts.tlsHandshake,
    // What no other server can be asked for waits for --request-timeout, which the API server has, too.
    headTimeout: 0,
    openStreams: traffic.openStreams,
    credentials: credentials.current.transport,
    connectTimeout: config.timeouts.dial,
    readSilence: config.timeouts.responseHeader,
    guard: { addressPolicy },
    onBrokenOff: (origin) => servers?.brokenOff(origin),
    onConnectionLost: (origin) => servers?.connectionLost(origin),
  });
  opened.push(() => transport.close());
  const { file } = config.snapshot;
  const receiver = new SnapshotReceiver({
    store:
      file === undefined
        ? createMemorySnapshotStore()
        : createFileSnapshotStore(file, config.embeddedSync !== undefined),
    keys: () => credentials.current.snapshotKeys,
    readsClusterItself: config.embeddedSync !== undefined,
    addressPolicy,
    logger,
    onPush: (result) => metrics.snapshotPushed(result),
  });
  const localServerId = createLocalServerId({
    config,
    listeningPort: () => listeningPort,
    routingTable: receiver,
  });
  const outboundOptions = {
    local: localDestination(config, localServerId, () => credentials.current),
    transport,
    identityHeaderNames: config.identityHeaderNames,
    pseudonym: newPseudonym(),
  };
  const servers =
    config.health &&
    followServers({
      ...outboundOptions,
      config: config.health,
      endConnections: (destination, how) => transport.endConnections(destination, how),
      onChanged: () => embeddedSync?.hurry(),
      logger,
    });
  // Before the transport, whose end would look like the servers'.
  if (servers !== undefined) opened.push(() => servers.stop());
  servers?.health.observe(metrics);
  const embeddedSync = embeddedSyncOf(config, openEmbeddedSync, {
    receiver,
    pseudonym: outboundOptions.pseudonym,
    observer: metrics.sync,
    logger,
  });
  const checkOwnServer = localServerId && ownServerCheck(localServerId, logger);
  const history = new RouterHistory({
    preferredMinor: (table) => preferredMinor(table, config.preferredVersion, Date.now()),
  });
  servers?.health.observe(history);
  const prepareDocuments = (table: RoutingTable): void => {
    prewarmDiscovery(ledByPreference(table, config.preferredVersion, Date.now())).catch((error: unknown) => {
      logger.error({ err: error }, 'The merged discovery documents could not be built');
    });
  };
  let last: RoutingTable | undefined;
  let preferenceTimer: NodeJS.Timeout | undefined;
  opened.push(() => clearTimeout(preferenceTimer));
  /** What follows from another preferred version, at the instant that the snapshot foresees. */
  const followPreference = (table: RoutingTable): void => {
    clearTimeout(preferenceTimer);
    const coming = comingPreference(table, config.preferredVersion, Date.now());
    if (coming === undefined) return;
    preferenceTimer = setTimeout(() => {
      history.tableInUse(table);
      traffic.openStreams.endMisplaced({ over: watchesMovedOver });
      if (config.featureGateEnabled) prepareDocuments(table);
      followPreference(table);
    }, coming.at - Date.now()).unref();
  };
  receiver.onChange((table) => {
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
  const load = new ServerLoad(() => performance.now());
  const retryBudget = new RetryBudget();
  const recentDecisions = new RecentDecisions();
  const handlers = createRouterHandlers(config, {
    app: {
      ...outboundOptions,
      retryBudget,
      load,
      health: servers?.health,
      routingTable: receiver,
      credentialFiles: credentialWatch.status,
      embeddedSync: embeddedSync?.status,
      // Under the ID that the sync job knows the server by.
      advertised: () => advertisedServer({ ...config, serverId: localServerId?.() }, listeningPort),
      recentDecisions,
      history,
      metrics,
      observers: [metrics.requests, recentDecisions, history],
      logger,
    },
    assertionAuthenticator: assertionAuthenticator(
      localServerId,
      () => credentials.current.assertionKeys,
      logger,
    ),
    credentials,
    settings,
    traffic,
  });
  const server = createRouterServer({
    fetch: handlers.fetch,
    disableHttp2Serving: config.disableHttp2Serving,
    tls: credentials.current.server,
    clientCertificateOf: credentials.clientCertificateOf,
    onUpgrade: handlers.onUpgrade,
    deadlines: traffic.deadlines,
    goawayChance: config.limits.goawayChance,
    limits: {
      maxConnections: traffic.maxConnections,
      tlsHandshakeTimeout: config.timeouts.tlsHandshake,
    },
    observer: metrics.connections,
    logger,
  });
  await receiver.restore();
  // The local server is known from the start.
  if (receiver.current() === undefined) servers?.follow(undefined);
  const admin = await startAdminServer(config, handlers.admin, credentials.current.admin);
  if (admin !== undefined) {
    opened.push(() => admin.close());
    logger.info({ origin: admin.origin }, 'Health and metrics');
  }
  if (configurationSource !== undefined) {
    const users = {
      live: credentials,
      server,
      admin,
      transport,
      prepareSync: embeddedSync && ((next: ServeConfig) => embeddedSync.prepare(next)),
      onSettingsChanged(changes: readonly SettingChange[]) {
        changedSettings = changes;
      },
    };
    watchRouterFiles(config, users, configurationSource, credentialWatch, logger);
  }
  // With all else there is: what it makes is used by nothing yet, and an error ends the start.
  const readCluster = await embeddedSync?.prepare(config);
  const { port } = await server.listen(config.securePort, config.bindAddress);
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
    origin: `https://${joinHostPort(config.bindAddress, port)}`,
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
