import { type AppParts, createApp } from '../../app.ts';
import type { AppOptions } from '../../own-app.ts';
import { RouterHistory } from '../../own-paths/history/router-history.ts';
import { adminEndpoints, type MetricsSource } from '../../own-paths/metrics-endpoints.ts';
import { HttpRouter } from '../../proxy/handle-request.ts';
import { type RouterSettings, resolveOptions } from '../../proxy/options.ts';
import { RetryBudget } from '../../proxy/other-servers.ts';
import type { OutboundOptions } from '../../proxy/outbound.ts';
import { ServerLoad } from '../../proxy/server-choice.ts';
import { accessLog } from '../../request/access-log.ts';
import type { Destination } from '../../request/destination.ts';
import { newPseudonym } from '../../request/headers.ts';
import { preferredMinor } from '../../routing/preferred-version.ts';
import type { Logger, LogVerbosity } from '../../runtime/logger.ts';
import { monotonicNow, steadyNow } from '../../runtime/time.ts';
import { type AddressPolicy, createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import { OwnSnapshotReceiver } from '../../snapshot/receiving/own-receiver.ts';
import { SnapshotReceiver } from '../../snapshot/receiving/receiver.ts';
import { countsAfter, versionSettlesFor } from '../../snapshot/routing-table/version-instants.ts';
import {
  assertionAuthenticator,
  isTokenGateway,
  nodeAuthenticators,
  refuseAuthenticated,
} from '../callers/node-authenticators.ts';
import type { RunningRouter, ServeConfig } from '../configuration/serve-config.ts';
import { CredentialWatch } from '../credentials/credential-watch.ts';
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
import { createRouterServer, type RouterServer } from '../serving/server.ts';
import { upgradeListener } from '../upgrades/upgrade.ts';
import { FollowedServers } from './followed-servers.ts';
import { LocalServerId } from './local-server-id.ts';
import type { EmbeddedSync, OpenEmbeddedSync, ProcessEdge } from './process-edge.ts';
import { TableInUse } from './table-in-use.ts';
import { streamLimitOf, TrafficControl, thisMachine } from './traffic-control.ts';

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

interface Outbound extends OutboundOptions {
  readonly local: Destination | undefined;
  readonly transport: NodeTransport;
}

type RouterOptions = AppOptions & AppParts & RouterSettings & { readonly metrics: MetricsSource };

/** Milliseconds for a name and the TCP connection to a server. */
const dialTimeout = 5_000;

/**
 * Puts a router together from its configuration and starts it. Resolves once it listens; a snapshot that outlived the last
 * run is in use by then.
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
  const router = new RouterProcess(config, logger, options);
  try {
    return await router.start();
  } catch (error) {
    // A restored snapshot has connections opened already, which would keep the process alive.
    await router.close();
    throw error;
  }
}

/**
 * One router, its parts in the order in which they are made: each is made of those before it. Nothing happens before `start`,
 * so that what calls a later part back finds it.
 */
class RouterProcess {
  readonly #config: ServeConfig;
  readonly #logger: Logger;
  readonly #options: StartOptions;
  /** By `performance.now`. */
  readonly #servesSince = performance.now();
  readonly #opened = new AsyncDisposableStack();
  readonly #pseudonym = newPseudonym();
  readonly #load = new ServerLoad(monotonicNow);
  readonly #retryBudget = new RetryBudget();
  readonly #credentials: LiveCredentials;
  readonly #traffic: TrafficControl;
  readonly #metrics: RouterMetrics;
  readonly #history: RouterHistory;
  readonly #localServerId: LocalServerId | undefined;
  readonly #transport: NodeTransport;
  readonly #outbound: Outbound;
  readonly #servers: FollowedServers | undefined;
  readonly #receiver: SnapshotReceiver;
  readonly #embeddedSync: EmbeddedSync | undefined;
  readonly #credentialWatch: CredentialWatch;
  readonly #tableInUse: TableInUse;
  #listeningPort: number | undefined;

  constructor(config: ServeConfig, logger: Logger, options: StartOptions) {
    const { edge = {} } = options;
    const { preferredVersion } = config.settings.routing;
    const opened = this.#opened;
    this.#config = config;
    this.#logger = logger;
    this.#options = options;
    this.#credentials = new LiveCredentials(credentialsOf(config));
    this.#traffic = new TrafficControl(config, logger, edge.machine ?? thisMachine);
    opened.defer(() => this.#traffic.deadlines.stop());
    this.#metrics = new RouterMetrics(config);
    this.#history = new RouterHistory({
      preferredMinor: (table) => preferredMinor(table, preferredVersion, steadyNow()),
    });
    const { local } = config;
    this.#localServerId = local && new LocalServerId({ ...config, local }, logger, edge);
    const addressPolicy = createAddressPolicy(config.settings.peers);
    this.#transport = opened.adopt(this.#newTransport(addressPolicy), (transport) => transport.close());
    this.#outbound = {
      local: localDestination(config, this.#localServerId?.current, () => this.#credentials.current),
      transport: this.#transport,
      identityHeaderNames: config.identityHeaderNames,
      pseudonym: this.#pseudonym,
    };
    this.#servers = this.#newServers();
    const ownReceiver = config.embeddedSync && new OwnSnapshotReceiver(this.#receiverOptions(addressPolicy));
    this.#receiver = ownReceiver ?? new SnapshotReceiver(this.#receiverOptions(addressPolicy));
    opened.defer(() => this.#receiver.settled());
    // Before the transport, whose end would look like the servers'.
    opened.defer(() => this.#servers?.stop());
    this.#embeddedSync = ownReceiver && this.#newEmbeddedSync(ownReceiver);
    const { readFile } = edge;
    this.#credentialWatch = new CredentialWatch({
      logger,
      ...(readFile && { read: async (path) => readFile(path) }),
      further: async () => this.#embeddedSync?.expiring() ?? [],
    });
    this.#tableInUse = this.#newTableInUse();
  }

  #newTransport(addressPolicy: AddressPolicy): NodeTransport {
    const { timeouts } = this.#config;
    return new NodeTransport({
      onDialFailed: (destination, error) => this.#metrics.dialFailed(destination, error),
      tlsHandshakeTimeout: timeouts.tlsHandshake,
      // A request that no other server can be asked for waits for --request-timeout, which the API server has, too.
      headTimeout: 0,
      openStreams: this.#traffic.openStreams,
      memory: this.#traffic.memory,
      credentials: this.#credentials.current.transport,
      connectTimeout: dialTimeout,
      readSilence: timeouts.responseHeader,
      addressPolicy,
      openPool: this.#options.edge?.openPool,
      onBrokenOff: (origin) => this.#servers?.brokenOff(origin),
      onGoAway: (origin) => this.#servers?.goneAway(origin),
      onConnectionLost: (origin) => this.#servers?.connectionLost(origin),
    });
  }

  #newServers(): FollowedServers | undefined {
    const { health } = this.#config;
    if (health === undefined) return undefined;
    const load = this.#load;
    const servers = new FollowedServers({
      ...this.#outbound,
      answersOf: (id) => ({
        awaiting: load.counts(id, 'short').inFlight,
        responses: load.counts(id, 'short').responses + load.counts(id, 'longRunning').responses,
      }),
      config: health,
      endConnections: (destination, how) => this.#transport.endConnections(destination, how),
      onChanged: (id) => this.#embeddedSync?.hurry(id),
      logger: this.#logger,
    });
    servers.health.observe(this.#metrics);
    servers.health.observe(this.#history);
    return servers;
  }

  #receiverOptions(addressPolicy: AddressPolicy): ConstructorParameters<typeof SnapshotReceiver>[0] {
    const { settings, embeddedSync } = this.#config;
    const { file, cluster } = settings.snapshot;
    const servers = this.#servers;
    const openStore = this.#options.edge?.openStore ?? createFileSnapshotStore;
    return {
      store: file === undefined ? undefined : openStore(file, embeddedSync !== undefined),
      keys: () => this.#credentials.current.snapshotKeys,
      cluster,
      addressPolicy,
      logger: this.#logger,
      onPush: (result) => this.#metrics.snapshotPushed(result),
      serverConfirmedAt: servers && ((id, origin) => servers.serverConfirmedAt(id, origin)),
    };
  }

  #newEmbeddedSync(receiver: OwnSnapshotReceiver): EmbeddedSync {
    const { openEmbeddedSync, edge = {} } = this.#options;
    if (openEmbeddedSync === undefined) {
      throw new TypeError('To read a cluster, startRouter needs openEmbeddedSync.');
    }
    const { sync: observer } = this.#metrics;
    return openEmbeddedSync({ receiver, pseudonym: this.#pseudonym, observer, logger: this.#logger, edge });
  }

  #newTableInUse(): TableInUse {
    return new TableInUse({
      localServerId: this.#localServerId,
      servers: this.#servers,
      local: this.#outbound.local,
      transport: this.#transport,
      metrics: this.#metrics,
      history: this.#history,
      openStreams: this.#traffic.openStreams,
      preferredVersion: this.#config.settings.routing.preferredVersion,
      mergesDocuments: this.#config.featureGateEnabled,
      logger: this.#logger,
    });
  }

  /** @throws when the address cannot be listened on, or a certificate or key cannot be used */
  async start(): Promise<RunningRouter> {
    const { settings } = this.#config;
    const options = this.#routerOptions();
    const server = this.#openServer(options);
    this.#opened.defer(() => this.#tableInUse.stop());
    // A snapshot that is taken while the router ends would have its servers probed for ever.
    this.#opened.defer(this.#receiver.onChange((table) => this.#tableInUse.put(table)));
    await this.#restore();
    const endpoints = adminEndpoints(options);
    const admin = await startAdminServer(this.#config, (request) => endpoints.fetch(request));
    if (admin !== undefined) {
      this.#opened.defer(() => admin.close());
      this.#logger.info({ origin: admin.origin }, 'Health and metrics');
    }
    this.#watchFiles(server);
    // With all else there is: what it makes is used by nothing yet, and an error ends the start.
    const readCluster = await this.#embeddedSync?.prepare(this.#config);
    const { bindAddress } = settings.serving;
    const { port } = await server.listen(settings.serving.port, bindAddress);
    this.#listeningPort = port;
    this.#localServerId?.listensOn(port);
    this.#opened.defer(() => this.#embeddedSync?.stop());
    this.#tellOfNoSnapshot();
    readCluster?.();
    this.#credentialWatch.start();
    this.#opened.defer(() => this.#credentialWatch.stop());
    return {
      origin: `https://${joinHostPort(bindAddress, port)}`,
      adminOrigin: admin?.origin,
      reload: () => this.#credentialWatch.reload(),
      shutdown: () => this.close(this.#traffic.shutDown(server)),
      close: (graceMilliseconds = 10_000) => this.close(server.close(graceMilliseconds)),
    };
  }

  async #restore(): Promise<void> {
    await this.#receiver.restore();
    // The local server is known from the start.
    if (this.#receiver.current() === undefined) this.#servers?.follow(undefined);
  }

  /** Closes what was opened, the last first. @param served resolves when no client is left */
  async close(served?: Promise<void>): Promise<void> {
    await served;
    await this.#opened.disposeAsync();
  }

  #routerOptions(): RouterOptions {
    const config = this.#config;
    const { logVerbosity } = this.#options;
    const logger = this.#logger;
    const localServerId = this.#localServerId?.current;
    const embeddedSync = this.#embeddedSync;
    const assertionKeys = () => this.#credentials.current.assertionKeys;
    const metrics = this.#scrapedMetrics();
    return resolveOptions({
      ...this.#outbound,
      ...nodeAuthenticators(config, assertionAuthenticator(localServerId, assertionKeys, logger)),
      inbound: nodeInbound,
      preferredVersion: config.settings.routing.preferredVersion,
      enabled: config.featureGateEnabled,
      gate: this.#traffic.gate,
      refuse: isTokenGateway(config) ? refuseAuthenticated(logger) : undefined,
      isShuttingDown: () => this.#traffic.isShuttingDown,
      found: config.found,
      retryBudget: this.#retryBudget,
      load: this.#load,
      health: this.#servers?.health,
      routingTable: this.#routingTable(),
      credentialFiles: this.#credentialWatch,
      embeddedSync: embeddedSync && (() => embeddedSync.status()),
      // Under the ID that the sync job knows the server by.
      advertised: () => advertisedServer({ ...config, serverId: localServerId?.() }, this.#listeningPort),
      history: this.#history,
      metrics,
      logVerbosity,
      observers: [
        this.#metrics.requests,
        this.#history,
        accessLog(logger, logVerbosity ?? { level: config.settings.logging.verbosity }),
      ],
      logger,
    });
  }

  #routingTable() {
    const receiver = this.#receiver;
    const servers = this.#servers;
    if (servers === undefined) return receiver;
    const isNew = () => performance.now() - this.#servesSince < countsAfter + versionSettlesFor;
    // The receiver is told of each change, but not whether it is told in time: the servers themselves say so.
    return Object.assign(receiver, {
      confirmedAt: () => servers.confirmedAt(),
      unconfirmed: (within: number) => servers.unconfirmed(within),
      untold: () => servers.untold(),
      isAwaited: () => receiver.current() === undefined && isNew(),
    });
  }

  #scrapedMetrics(): MetricsSource {
    const embeddedSync = this.#embeddedSync;
    return this.#metrics.scrapedWith({
      refusedAddresses: () => [
        ...this.#receiver.refusedAddresses,
        ...(embeddedSync?.status().refusedAddresses ?? []),
      ],
      credentialFiles: this.#credentialWatch,
      embeddedSync: () => embeddedSync?.status(),
      inFlight: (id, kind) => this.#load.counts(id, kind).inFlight,
      retryBudget: () => this.#retryBudget.left,
      heldBytes: () => this.#traffic.memory.bytes,
      health: () => this.#servers?.health.reports() ?? [],
    });
  }

  #openServer(options: RouterOptions): RouterServer {
    const config = this.#config;
    const { settings } = config;
    const { deadlines, openStreams, connectionLimits, memory } = this.#traffic;
    const { clientCertificateOf } = this.#credentials;
    const logger = this.#logger;
    const router = new HttpRouter(options);
    const { fetch } = createApp({ ...options, router });
    const onUpgrade = upgradeListener({
      router,
      dialer: this.#transport.dialer,
      clientCertificateOf,
      headTimeout: settings.timeouts.request,
      openStreams,
      deadlines,
      logger,
    });
    const openServer = this.#options.edge?.openServer ?? createRouterServer;
    const { tlsHandshake: tlsHandshakeTimeout } = config.timeouts;
    return openServer({
      fetch,
      disableHttp2Serving: settings.serving.disableHttp2,
      tls: this.#credentials.current.server,
      clientCertificateOf,
      onUpgrade,
      deadlines,
      goawayChance: settings.limits.goawayChance,
      limits: { ...connectionLimits, ...streamLimitOf(config), tlsHandshakeTimeout },
      memory,
      onRelief: (relief) => this.#metrics.relieved(relief),
      logger,
    });
  }

  #watchFiles(server: RouterServer): void {
    const source = this.#options.configurationSource;
    if (source === undefined) return;
    const users = {
      live: this.#credentials,
      server,
      transport: this.#transport,
      prepareSync: async (next: ServeConfig) => (await this.#embeddedSync?.prepare(next)) ?? (() => {}),
    };
    watchRouterFiles(this.#config, users, source, this.#credentialWatch);
  }

  #tellOfNoSnapshot(): void {
    if (!this.#config.featureGateEnabled || this.#receiver.current() !== undefined) return;
    const isPushed = this.#embeddedSync === undefined;
    this.#logger.warn(
      { comesFrom: isPushed ? 'a push of the sync job' : 'the cluster, which is read now' },
      'There is no snapshot yet: the router is not ready',
    );
  }
}
