import { NodeTransport } from '../../node/destinations/node-transport.ts';
import { systemClock } from '../../runtime/time.ts';
import { addressOf } from '../../snapshot/addresses/addresses.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import type { FoundServer } from '../addresses.ts';
import { type ClusterSource, type ClusterTiming, createClusterSource } from '../cluster-source.ts';
import type { ServerDocuments } from '../server-documents.ts';
import type { ServerDescription, SyncServer } from '../sync-server.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { kubernetesConnection } from './kubernetes-connection.ts';
import { type LiveDocumentsOptions, liveDocuments } from './live-documents.ts';
import {
  type ListedServer,
  type LocalApiServer,
  type ReadingOptions,
  readingOriginOf,
} from './sync-options.ts';

interface OpenClusterOptions {
  readonly access: ClusterAccess;
  /** PEM to verify API servers at their own addresses. Default: that of `access`. */
  readonly certificateAuthorities: string | undefined;
  /** What names those, for messages. */
  readonly authoritiesFrom?: string | undefined;
  /** Listed by hand. */
  readonly servers: readonly ListedServer[];
  readonly timing?: Partial<ClusterTiming> | undefined;
  /** It is read at this origin, not at its address for others, which may be that of a router. */
  readonly local?: LocalApiServer | undefined;
  /** `Via` of each request. */
  readonly via?: string | undefined;
}

/** How a server is verified, and what names that. */
type Trust = Pick<LiveDocumentsOptions, 'trust' | 'authoritiesFrom'>;

interface OpenCluster extends OpenServers {
  /** @param previous the snapshot of an earlier run. Once only. */
  source(previous: Snapshot | undefined): ClusterSource;
}

/**
 * Connections to a cluster: to the server of the kubeconfig, and with the same identity to each server at its address.
 */
export async function openCluster(options: OpenClusterOptions): Promise<OpenCluster> {
  const { access, timing, local, via } = options;
  const authorities = (certificateAuthorities: string | undefined) => {
    const pem = options.certificateAuthorities ?? certificateAuthorities;
    if (pem !== undefined) return pem;
    throw new TypeError(
      'The kubeconfig has no certificate authority, so API servers cannot be verified at their own addresses: ' +
        'set --peer-ca-file.',
    );
  };
  const transportCredentials = async () => {
    const { certificateAuthorities, clientCertificate, headers } = await access.credentials();
    return {
      headers,
      transport: {
        peerCertificateAuthorities: authorities(certificateAuthorities),
        frontProxy: clientCertificate,
      },
    };
  };
  const first = await transportCredentials();
  const transport = new NodeTransport({ credentials: first.transport });
  let used = JSON.stringify(first.transport);

  /** Uses rotated certificates from now on. @returns the headers to send */
  async function identity(): Promise<readonly string[]> {
    const { headers, transport: now } = await transportCredentials();
    const text = JSON.stringify(now);
    if (text !== used) transport.updateCredentials(now);
    used = text;
    return via === undefined ? headers : [...headers, 'via', via];
  }

  const ofPeers: Trust = {
    trust: { kind: 'peer-ca' },
    authoritiesFrom:
      options.certificateAuthorities === undefined ? access.authoritiesFrom : options.authoritiesFrom,
  };
  const documents = new Map<string, { readonly origin: string; readonly opened: ServerDocuments }>();
  function documentsAt(
    id: string,
    origin: string,
    serverName: string | undefined,
    trust = ofPeers,
  ): ServerDocuments {
    const key = `${origin} ${serverName ?? ''}`;
    const known = documents.get(key);
    if (known !== undefined) return known.opened;
    const opened = liveDocuments({ transport, id, origin, serverName, ...trust, requestHeaders: identity });
    documents.set(key, { origin, opened });
    return opened;
  }

  /**
   * By the ID that it had at the start, or by the address of a Lease that it has got since. An endpoint without a Lease is
   * the local server under its ID alone: an endpoint that is gone must not seem to be there because the local server is.
   */
  function isLocal(server: ServerDescription, hasLease: boolean): boolean {
    if (server.id === local?.id) return true;
    const address = hasLease ? addressOf(server) : undefined;
    return address !== undefined && local?.isAt?.(address) === true;
  }

  function documentsOf(server: FoundServer): ServerDocuments {
    const { id, address, url, serverName, holderIdentity } = server;
    if (local === undefined || !isLocal(server, holderIdentity !== undefined)) {
      return documentsAt(id, url ?? `https://${address}`, serverName);
    }
    const { origin, certificateAuthorities: pem, authoritiesFrom } = local;
    return documentsAt(id, origin, local.serverName, { trust: { kind: 'ca-bundle', pem }, authoritiesFrom });
  }

  /** Forgets the documents of servers that are gone, and closes connections to them. */
  function forgetAllBut(used: ReadonlySet<ServerDocuments>): void {
    for (const [key, { opened }] of documents) if (!used.has(opened)) documents.delete(key);
    transport.retain(new Set([...documents.values()].map(({ origin }) => origin)));
  }

  const servers = options.servers.map((server) =>
    listedServer(server, (origin) => documentsAt(server.id, origin, server.serverName)),
  );
  let addresses: readonly string[] = [];
  const connection = kubernetesConnection({
    access,
    peerCertificateAuthorities: options.certificateAuthorities,
    peerAuthoritiesFrom: options.authoritiesFrom,
    otherAddresses: () => addresses,
    local,
    via,
  });
  return {
    servers,
    source(previous) {
      const source = createClusterSource({
        connection,
        servingNames: (address, signal) => servingNames(transport, address, signal),
        documentsOf,
        listed: servers,
        previous,
        clock: systemClock,
        timing,
      });
      return {
        ...source,
        look(isReadable) {
          const view = source.look(isReadable);
          addresses = view.servers.flatMap((server) =>
            isLocal(server, server.incarnation !== undefined) ? [] : (addressOf(server) ?? []),
          );
          forgetAllBut(new Set(view.servers.map(({ documents }) => documents)));
          return view;
        },
      };
    },
    close() {
      transport.close();
      void connection.close();
    },
  };
}

/**
 * The DNS names in the serving certificate of the API server at `address`, verified as on every connection: with the
 * cluster's authorities, for the name kubernetes.default.svc. Sends no request.
 *
 * @throws {TransportError} if no API server can be verified there
 */
async function servingNames(
  transport: NodeTransport,
  address: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const socket = await transport.dialer.dial({
    destination: {
      kind: 'peer',
      id: address,
      origin: `https://${address}`,
      serverName: 'kubernetes.default.svc',
      trust: { kind: 'peer-ca' },
    },
    presentFrontProxyCertificate: false,
    protocols: ['h2', 'http/1.1'],
    signal,
  });
  try {
    return dnsNames(socket.getPeerCertificate().subjectaltname);
  } finally {
    socket.destroy();
  }
}

/**
 * Node prints the names in one text, `DNS:a, IP Address:…`, and puts ambiguous ones in quotes (CVE-2021-44532): those are
 * not host names.
 */
function dnsNames(subjectAltName: string | undefined): readonly string[] {
  return (subjectAltName ?? '').split(', ').flatMap((name) => /^DNS:([A-Za-z0-9.-]+)$/.exec(name)?.[1] ?? []);
}

/** API servers with open connections. */
interface OpenServers {
  readonly servers: readonly SyncServer[];
  close(): void;
}

export function openServers(options: ReadingOptions): OpenServers {
  const { certificateAuthorities, authoritiesFrom, clientCertificate, bearerToken } = options;
  const transport = new NodeTransport({
    credentials: { peerCertificateAuthorities: certificateAuthorities, frontProxy: clientCertificate },
  });
  return {
    servers: options.servers.map((server) =>
      listedServer(server, (origin) =>
        liveDocuments({
          transport,
          id: server.id,
          origin,
          serverName: server.serverName,
          authoritiesFrom,
          bearerToken,
        }),
      ),
    ),
    close: () => transport.close(),
  };
}

function listedServer(server: ListedServer, documentsAt: (origin: string) => ServerDocuments): SyncServer {
  const { readFrom: _readFrom, ...description } = server;
  return { ...description, addressSource: 'listed', documents: documentsAt(readingOriginOf(server)) };
}
