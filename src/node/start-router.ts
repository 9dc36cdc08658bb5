import { createApp } from '../app.ts';
import { prewarmDiscovery } from '../discovery/documents.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import { RequestHeaderAuthenticator } from '../identity/request-header.ts';
import { X509Authenticator } from '../identity/x509.ts';
import type { Logger } from '../observe/logger.ts';
import { createRouter } from '../proxy/create-router.ts';
import { extensionDestination } from '../proxy/destinations.ts';
import type { InboundRequest } from '../proxy/inbound.ts';
import type { Destination } from '../proxy/transport.ts';
import { createAddressPolicy } from '../snapshot/address-policy.ts';
import type { PinnedKeySet } from '../snapshot/keys.ts';
import { createMemorySnapshotStore } from '../snapshot/memory-snapshot-store.ts';
import { SnapshotReceiver } from '../snapshot/receiver.ts';
import type { RoutingTable } from '../snapshot/routing-table.ts';
import { readClientAuthorities } from './client-authorities.ts';
import { ClientCertificateReader, clientCertificateTlsOptions } from './client-certificate.ts';
import { createFileSnapshotStore } from './file-snapshot-store.ts';
import { nodeInbound } from './node-inbound.ts';
import type { RunningRouter, ServeConfig } from './serve-config.ts';
import { createRouterServer } from './server.ts';
import type { TransportCredentials } from './tls-dialer.ts';
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
  const authorities = readClientAuthorities({
    clientCa: config.clientCa?.pem,
    requestHeaderCa: config.requestHeader?.clientCa.pem,
  });
  const certificates = new ClientCertificateReader(authorities);
  const transport = new UndiciTransport({ credentials: transportCredentials(config) });
  const receiver = createReceiver(config, logger);
  receiver.onChange((table) => {
    transport.retain(originsOf(config, table));
    // Off the request path: the first client after a change must not wait for the merge.
    prewarmDiscovery(table).catch((error: unknown) => {
      logger.error({ err: error }, 'The merged discovery documents could not be built');
    });
  });
  await receiver.restore();

  const { authenticators, isVerifiedPeer } = callerIdentification(config);
  const routerOptions = {
    serverId: config.serverId,
    local: localDestination(config),
    routingTable: receiver,
    transport,
    authenticators,
    isVerifiedPeer,
    identityHeaderNames: config.identityHeaderNames,
    stalePolicy: config.snapshot.stalePolicy,
    extensionRouting: config.extensionRouting,
    enabled: config.featureGateEnabled,
    logger,
  };
  const router = createRouter(routerOptions);
  const app = createApp({
    ...routerOptions,
    router,
    inbound: nodeInbound,
    allowedCallers: { users: config.allowedUsers, groups: config.allowedGroups },
  });
  const clientCertificateOf = certificates.read.bind(certificates);
  const server = createRouterServer({
    fetch: app.fetch,
    tls: {
      cert: config.serving.certificate.pem,
      key: config.serving.privateKey.pem,
      ...clientCertificateTlsOptions(authorities),
    },
    clientCertificateOf,
    onUpgrade: upgradeListener({ router, dialer: transport.dialer, clientCertificateOf, logger }),
    logger,
  });
  const { port } = await server.listen(config.securePort, config.bindAddress);
  return {
    origin: httpsOrigin(config.bindAddress, port),
    async close() {
      await server.close(closeGrace);
      transport.close();
    },
  };
}

function transportCredentials({ peerCa, local, proxyClient }: ServeConfig): TransportCredentials {
  return {
    // With the gate off there are no peers, and the local server's authority is all there is.
    peerCertificateAuthorities: (peerCa ?? local.ca).pem,
    frontProxy: proxyClient && { certificate: proxyClient.certificate.pem, key: proxyClient.privateKey.pem },
  };
}

function localDestination({ serverId, local, peerCa }: ServeConfig): Destination {
  return {
    kind: 'local',
    id: serverId,
    origin: local.origin,
    serverName: local.serverName,
    // An authority of its own is trusted for the local server only, never for peers.
    trust:
      peerCa === undefined || peerCa.pem === local.ca.pem
        ? { kind: 'peer-ca' }
        : { kind: 'ca-bundle', pem: local.ca.pem },
  };
}

/**
 * Who can be told from whom. Without the front-proxy pair nobody is authenticated here: an identity could not
 * be asserted to any server, so every caller's own credentials have to speak.
 */
function callerIdentification(config: ServeConfig): {
  readonly authenticators: readonly Authenticator[];
  readonly isVerifiedPeer: (inbound: InboundRequest) => boolean;
} {
  const { requestHeader, clientCa, proxyClient } = config;
  if (proxyClient === undefined) return { authenticators: [], isVerifiedPeer: () => false };
  const x509 = clientCa === undefined ? [] : [new X509Authenticator()];
  if (requestHeader === undefined) return { authenticators: x509, isVerifiedPeer: () => false };
  const frontProxy = new RequestHeaderAuthenticator({
    // To the authenticator, as to Kubernetes, an empty list is any name.
    allowedNames: requestHeader.allowedNames === 'any' ? [] : requestHeader.allowedNames,
    headerNames: config.identityHeaderNames,
  });
  return {
    authenticators: [frontProxy, ...x509],
    isVerifiedPeer: (inbound) => frontProxy.isVerifiedPeer(inbound),
  };
}

function createReceiver({ snapshot, peerAddresses }: ServeConfig, logger: Logger): SnapshotReceiver {
  // Without keys every snapshot is refused: none can be signed with a key that is pinned.
  const keys: PinnedKeySet = snapshot.keys?.pinned ?? new Map();
  return new SnapshotReceiver({
    keys: () => keys,
    addressPolicy: createAddressPolicy(peerAddresses),
    store: snapshot.file === undefined ? createMemorySnapshotStore() : createFileSnapshotStore(snapshot.file),
    logger,
  });
}

function originsOf({ local }: ServeConfig, table: RoutingTable): ReadonlySet<string> {
  const origins = new Set([local.origin]);
  for (const { origin } of table.servers) if (origin !== undefined) origins.add(origin);
  for (const apiService of table.snapshot.apiServices) {
    const destination = extensionDestination(apiService);
    if (destination !== undefined) origins.add(destination.origin);
  }
  return origins;
}

function httpsOrigin(host: string, port: number): string {
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
