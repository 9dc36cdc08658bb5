import { createApp } from '../app.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import { RequestHeaderAuthenticator } from '../identity/request-header.ts';
import { X509Authenticator } from '../identity/x509.ts';
import type { Logger } from '../observe/logger.ts';
import { RecentDecisions } from '../observe/recent-decisions.ts';
import { createRouter } from '../proxy/create-router.ts';
import { extensionDestination, peerDestination } from '../proxy/destinations.ts';
import { createDirectLane } from '../proxy/direct-lane.ts';
import type { InboundRequest } from '../proxy/inbound.ts';
import { RetryBudget } from '../proxy/retry.ts';
import { ServerLoad } from '../proxy/server-load.ts';
import type { Destination } from '../proxy/transport.ts';
import { newPseudonym } from '../proxy/via.ts';
import { createAddressPolicy } from '../snapshot/address-policy.ts';
import { createMemorySnapshotStore } from '../snapshot/memory-snapshot-store.ts';
import { type PushResult, SnapshotReceiver } from '../snapshot/receiver.ts';
import type { RoutingTable } from '../snapshot/routing-table.ts';
import { createClusterDocuments } from './cluster-documents.ts';
import {
  assertionAuthenticator,
  canAssertLocally,
  identityTokenSigners,
  oidcIssuer,
} from './destination-identity.ts';
import { createFileSnapshotStore } from './file-snapshot-store.ts';
import { createJwtAuthenticator } from './jwt-authenticator.ts';
import { createRouterMetrics } from './metrics/create-router-metrics.ts';
import { nodeInbound } from './node-inbound.ts';
import { ownServerCheck } from './own-server-check.ts';
import { processFacts } from './process-facts.ts';
import { CredentialWatch } from './reload/credential-watch.ts';
import { LiveCredentials, serverTlsOf, transportCredentialsOf } from './reload/live-credentials.ts';
import { routerFileGroups } from './reload/router-file-groups.ts';
import { createRequestRecords } from './request-records.ts';
import type { RunningRouter, ServeConfig } from './serve-config.ts';
import { createRouterServer } from './server.ts';
import { followServers } from './server-health.ts';
import { TrafficControl } from './traffic-control.ts';
import { UndiciTransport } from './undici-transport.ts';
import { upgradeListener } from './upgrade.ts';

/** Milliseconds that requests in flight get to end when the router is closed. */
const closeGrace = 10_000;

/**
 * Puts a router together from its configuration and starts it. Resolves once it listens; a snapshot that
 * outlived the last run is in use by then.
 * @throws when the address cannot be listened on, or a certificate or key cannot be used.
 */
export async function startRouter(config: ServeConfig, logger: Logger): Promise<RunningRouter> {
  const opened: Opened = [];
  try {
    return await start(config, logger, opened);
  } catch (error) {
    // A restored snapshot has connections opened already, which would keep the process alive.
    await closeAll(opened);
    throw error;
  }
}

/** What ends all that has been opened so far. */
type Opened = (() => void | Promise<void>)[];

/** The last opened first. */
async function closeAll(opened: Opened): Promise<void> {
  for (const close of opened.toReversed()) await close();
}

async function start(config: ServeConfig, logger: Logger, opened: Opened): Promise<RunningRouter> {
  const credentials = new LiveCredentials(config);
  const credentialWatch = new CredentialWatch(logger);
  const traffic = new TrafficControl(config, logger);
  opened.push(() => traffic.deadlines.stop());
  const facts = processFacts(config);
  const metrics = createRouterMetrics(config, facts, () => receiver.current());
  const records = await createRequestRecords(config, logger, metrics);
  opened.push(() => records.close());
  const transport = new UndiciTransport({
    dialObserver: metrics?.connections,
    ...traffic.transportOptions,
    credentials: transportCredentialsOf(credentials.current),
    guard: { addressPolicy: createAddressPolicy(config.peerAddresses) },
    limits: { http1ReadConnections: config.performance.http1ReadConnections },
  });
  opened.push(() => transport.close());
  const outboundOptions = {
    local: localDestination(config, credentials),
    transport,
    identityHeaderNames: config.identityHeaderNames,
    identityTokens: identityTokenSigners(config),
    pseudonym: newPseudonym(),
  };
  const documents = createClusterDocuments(outboundOptions, logger, () => metrics?.documentReadFailed());
  const servers =
    config.health &&
    followServers({
      ...outboundOptions,
      config: config.health,
      endConnections: (destination, how) => transport.endConnections(destination, how),
      logger,
    });
  // Before the transport, whose end would look like the servers'.
  if (servers !== undefined) opened.push(() => servers.stop());
  if (metrics !== undefined) servers?.health.observe(metrics);
  const receiver = createReceiver(config, credentials, logger, (result) => metrics?.snapshotPushed(result));
  const { serverId } = config;
  const checkOwnServer = serverId === undefined ? undefined : ownServerCheck(serverId, logger);
  receiver.onChange((table) => {
    checkOwnServer?.(table);
    servers?.follow(table);
    const destinations = destinationsOf(outboundOptions.local, table);
    transport.retainDestinations(destinations);
    metrics?.tableInUse(table, destinations);
    if (config.featureGateEnabled) void documents.prepare(table);
  });
  await receiver.restore();
  // The local server is known from the start.
  if (receiver.current() === undefined) servers?.follow(undefined);

  const jwt = canAssertLocally(config) ? createJwtAuthenticator(config.jwt, logger) : undefined;
  if (jwt !== undefined) opened.push(() => jwt.close());
  const { authenticators, isVerifiedPeer } = callerIdentification(config, jwt?.authenticator, logger);
  const retryBudget = new RetryBudget();
  const load = new ServerLoad(() => performance.now());
  const recentDecisions = new RecentDecisions();
  const routerOptions = {
    ...outboundOptions,
    retryBudget,
    load,
    observers: [...(metrics === undefined ? [] : [metrics.requests]), recentDecisions, ...records.observers],
    serverId,
    health: servers?.health,
    localServerDownPolicy: config.localServerDownPolicy,
    routingTable: receiver,
    openApiV2: documents.openApiV2,
    authenticators,
    isVerifiedPeer,
    stalePolicy: config.snapshot.stalePolicy,
    extensionRouting: config.extensionRouting,
    enabled: config.featureGateEnabled,
    gate: traffic.gate,
    logger,
  };
  const router = createRouter(routerOptions);
  const app = createApp({
    ...routerOptions,
    router,
    inbound: nodeInbound,
    oidcIssuer: await oidcIssuer(config),
    allowedCallers: { users: config.allowedUsers, groups: config.allowedGroups },
    credentialFiles: credentialWatch.status,
    recentDecisions,
    isShuttingDown: () => traffic.isShuttingDown,
    metrics,
    processFacts: facts,
  });
  metrics?.lookAt({
    credentialFiles: credentialWatch.status,
    openApiV2: documents.openApiV2,
    retryBudget: () => retryBudget.left,
    health: () => servers?.health.reports() ?? [],
  });
  const { clientCertificateOf } = credentials;
  const server = createRouterServer({
    fetch: app.fetch,
    directLane: config.performance.directLane ? createDirectLane({ router, transport, logger }) : undefined,
    tls: serverTlsOf(credentials.current),
    clientCertificateOf,
    onUpgrade: upgradeListener({
      router,
      dialer: transport.dialer,
      clientCertificateOf,
      headTimeout: config.timeouts.request,
      openStreams: traffic.openStreams,
      deadlines: traffic.deadlines,
      logger,
    }),
    ...traffic.serverOptions(),
    observer: metrics?.connections,
    logger,
  });
  for (const group of routerFileGroups(config, credentials, { server, transport })) {
    credentialWatch.add(group);
  }
  const { port } = await server.listen(config.securePort, config.bindAddress);
  // Not waited for: an issuer that is down must not keep the router from starting.
  void jwt?.authenticator.prepare();
  credentialWatch.start(config.fileCheckInterval);
  return {
    origin: httpsOrigin(config.bindAddress, port),
    async reload() {
      await Promise.all([records.reopen(), credentialWatch.reload()]);
    },
    async shutdown() {
      await traffic.shutDown(server);
      credentialWatch.stop();
      await closeAll(opened);
    },
    async close(graceMilliseconds = closeGrace) {
      credentialWatch.stop();
      await server.close(graceMilliseconds);
      await closeAll(opened);
    },
  };
}

/** `undefined` in the gateway form. */
function localDestination(
  { serverId, local }: ServeConfig,
  credentials: LiveCredentials,
): Destination | undefined {
  if (serverId === undefined || local === undefined) return undefined;
  return {
    kind: 'local',
    id: serverId,
    origin: local.origin,
    serverName: local.serverName,
    // Asked anew for each request: its authority can change.
    get trust() {
      return credentials.localTrust();
    },
  };
}

/**
 * Who can be told from whom. Without a way to tell the local server, nobody is authenticated here: every
 * caller's own credentials have to speak.
 */
function callerIdentification(
  config: ServeConfig,
  jwt: Authenticator | undefined,
  logger: Logger,
): {
  readonly authenticators: readonly Authenticator[];
  readonly isVerifiedPeer: (inbound: InboundRequest) => boolean;
} {
  const { requestHeader, clientCa } = config;
  if (!canAssertLocally(config)) return { authenticators: [], isVerifiedPeer: () => false };
  const assertion = assertionAuthenticator(config, logger);
  const others = [
    // Before client certificates: a connection's own identity must not replace the one that it asserts.
    ...(assertion === undefined ? [] : [assertion]),
    ...(clientCa === undefined ? [] : [new X509Authenticator()]),
    ...(jwt === undefined ? [] : [jwt]),
  ];
  if (requestHeader === undefined) return { authenticators: others, isVerifiedPeer: () => false };
  const frontProxy = new RequestHeaderAuthenticator({
    // To the authenticator, as to Kubernetes, an empty list is any name.
    allowedNames: requestHeader.allowedNames === 'any' ? [] : requestHeader.allowedNames,
    headerNames: config.identityHeaderNames,
  });
  return {
    authenticators: [frontProxy, ...others],
    isVerifiedPeer: (inbound) => frontProxy.isVerifiedPeer(inbound),
  };
}

function createReceiver(
  { snapshot, peerAddresses }: ServeConfig,
  credentials: LiveCredentials,
  logger: Logger,
  onPush: (result: PushResult) => void,
): SnapshotReceiver {
  return new SnapshotReceiver({
    keys: () => credentials.current.snapshotKeys,
    addressPolicy: createAddressPolicy(peerAddresses),
    store: snapshot.file === undefined ? createMemorySnapshotStore() : createFileSnapshotStore(snapshot.file),
    logger,
    onPush,
  });
}

/** Everywhere this router may still send to. */
function destinationsOf(local: Destination | undefined, table: RoutingTable): readonly Destination[] {
  return [
    ...(local === undefined ? [] : [local]),
    ...table.servers.flatMap((server) => peerDestination(server) ?? []),
    ...table.snapshot.apiServices.flatMap((apiService) => extensionDestination(apiService) ?? []),
  ];
}

function httpsOrigin(host: string, port: number): string {
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
