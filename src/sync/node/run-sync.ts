import type { JWK } from 'jose';
import type { ClusterAccessOptions } from '../../node/configuration/serve-config.ts';
import {
  type ClusterAccess,
  loadClusterAccess,
  type ReadFile,
} from '../../node/credentials/cluster-access.ts';
import type { HttpsServer, OpenServerClient } from '../../node/destinations/https-client.ts';
import { defaultLogger } from '../../runtime/console-logger.ts';
import { type Clock, systemClock } from '../../runtime/time.ts';
import {
  type AddressPolicyOptions,
  checkServerAddress,
  createAddressPolicy,
} from '../../snapshot/addresses/address-policy.ts';
import { addressOf } from '../../snapshot/addresses/addresses.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import { publicHalfOf, signingKeyOf } from '../../snapshot/signing/seal.ts';
import { createAdvertisedAddresses } from '../advertised-addresses.ts';
import type { SnapshotTarget } from '../deliver.ts';
import { placeOf, placeOfServer } from '../documents/endpoints.ts';
import type { ServerDescription } from '../documents/sync-server.ts';
import { defaultTiming, type SyncTiming } from '../documents/timing.ts';
import { type ClusterSource, WatchedCluster } from '../reading/cluster-source.ts';
import { SyncLoop } from '../sync-loop.ts';
import { runOnce, type SyncOnceResult } from '../sync-once.ts';
import type { SyncParts } from '../sync-parts.ts';
import { ApiClient, apiServerName, type Endpoint } from './api-client.ts';
import { openRecording, type Recording } from './recording.ts';
import { type FileTargetOptions, fileTarget, httpsTarget, previousSnapshot } from './targets.ts';

export interface RouterTarget {
  /** `https://host:port`; of a Worker, the address it is deployed at. */
  readonly url: string;
  /** Default: the host of `url`. */
  readonly serverName?: string | undefined;
  /** Its certificate is verified with the public authorities, as for a Worker. Default false. */
  readonly publicAuthorities?: boolean | undefined;
}

/** The API server behind a router, for the sync job in that router. */
export interface LocalApiServer extends Endpoint {
  readonly id: string;
  /** Whether an address, `host:port`, leads to it: it may get a Lease, and so another ID. Default: none is known to. */
  readonly isAt?: ((address: string) => boolean) | undefined;
}

/** What the sync job reads and pushes with. PEM. */
interface SyncCredentials {
  /** Verify API servers' serving certificates. Required without `kubernetes`. */
  readonly certificateAuthorities?: string | undefined;
  readonly clientCertificate?: HttpsServer['clientCertificate'];
  /** Verify routers' serving certificates. Default: `certificateAuthorities`. */
  readonly routerCertificateAuthorities?: string | undefined;
}

/** What a sync job is told, by flags, a file or a library's user. Texts are PEM. */
export interface SyncOptions
  extends SyncCredentials,
    Pick<SyncParts, 'alwaysReadsSchemas' | 'cluster' | 'previous' | 'timing' | 'observer' | 'logger'> {
  /** Listed by hand. With `kubernetes` it may be empty. */
  readonly servers: readonly ServerDescription[];
  /**
   * Finds servers with this kubeconfig, and reads them with its credentials. `certificateAuthorities` are then those of
   * servers at their own addresses, and `clientCertificate` is for routers only. Each defaults to that of the kubeconfig.
   */
  readonly kubernetes?: ClusterAccessOptions | undefined;
  /** In place of those above and below, asked for each request: files are renewed. Default: they stay as they are. */
  readonly credentials?: (() => SyncCredentials) | undefined;
  readonly routers?: readonly RouterTarget[] | undefined;
  /** A signed one is also what the next run starts from, with what the routers hold. */
  readonly files?: readonly FileTargetOptions[] | undefined;
  /** More targets, for example the router that this runs in. An empty list: nobody. */
  readonly targets?: readonly SnapshotTarget[] | undefined;
  /**
   * New or empty folder that every response is written to, with the schemas of one version as well. Then there need be
   * nothing to deliver to.
   */
  readonly record?: string | undefined;
  /** The API server behind that router; only with `kubernetes`. */
  readonly local?: LocalApiServer | undefined;
  /** `Via` of each request, so that the router recognizes requests of its own. */
  readonly via?: string | undefined;
  /**
   * For routers, instead of the certificate or in addition: they require at least one of them. Called for each request,
   * since tokens are rotated.
   */
  readonly routerBearerToken?: (() => string | Promise<string>) | undefined;
  readonly signingKey?: JWK | undefined;
  /**
   * Public keys that the snapshot to start from may be signed with, besides that of the signing key: the previous key of
   * a rotation, keys of other sync jobs.
   */
  readonly snapshotKeys?: PinnedKeySet | undefined;
  /** How servers and routers are asked. Default: over HTTPS from this process. */
  readonly openClient?: OpenServerClient | undefined;
  /** Reads the kubeconfig, and the files that it names. Default: from disk. */
  readonly readFile?: ReadFile | undefined;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Which addresses are dialled that objects of the cluster name. Default: as of `createAddressPolicy`. */
  readonly peers?: AddressPolicyOptions | undefined;
}

/** The options contradict each other, together with what a kubeconfig adds: trying again helps nothing. */
export class SyncOptionsError extends TypeError {
  override readonly name = 'SyncOptionsError';
}

/** The one check of the options, together with what a kubeconfig adds. @throws {SyncOptionsError} naming every error */
function checkSyncOptions(options: SyncOptions): void {
  const issues: string[] = [];
  const { routers = [], files = [], targets, servers } = options;
  const ids = new Set<string>();
  for (const { id, address, url, readFrom } of servers) {
    if (ids.has(id)) issues.push(`server ${id} is listed twice`);
    ids.add(id);
    if (address !== undefined && url !== undefined) issues.push(`server ${id} has both address and url`);
    if (address === undefined && url === undefined && readFrom === undefined) {
      issues.push(`server ${id} has no address to read it at`);
    }
  }
  if (ids.size === 0 && options.kubernetes === undefined) issues.push('there is no server to read');
  const hasTargets = routers.length + files.length > 0 || targets !== undefined;
  if (!hasTargets && options.record === undefined) {
    issues.push('there is no router and no file to deliver to');
  }
  const hasIdentity = options.clientCertificate !== undefined || options.routerBearerToken !== undefined;
  if (routers.length > 0 && !hasIdentity) {
    issues.push(
      'routers accept snapshots only from a client with a certificate or a token: give one (--client-cert-file and --client-key-file, or --target-token-file)',
    );
  }
  const needsKey = routers.length > 0 || files.some((file) => !file.unsigned);
  if (needsKey && options.signingKey === undefined) {
    issues.push('there is no signing key: give one, or write files unsigned');
  }
  if (options.certificateAuthorities === undefined) {
    issues.push('there are no certificate authorities to verify API servers with: give them');
  }
  if (issues.length > 0) throw new SyncOptionsError(`The sync job cannot start: ${issues.join('; ')}.`);
}

/**
 * Reads the servers and pushes to the routers until `signal` aborts.
 *
 * @param onStart called with the loop, for its status
 * @throws {TypeError} if the options contradict each other
 *
 * @example
 * ```ts
 * const stop = new AbortController();
 * const routers = [{ url: routerUrl }];
 * const signingKey = privateJwk;
 * const options = { servers: [apiServer], routers, certificateAuthorities, clientCertificate, signingKey };
 * const running = runSync(options, stop.signal);
 * stop.abort();
 * await running;
 * ```
 */
export async function runSync(
  options: SyncOptions,
  signal: AbortSignal,
  onStart: (loop: SyncLoop) => void = () => {},
): Promise<void> {
  const opened = await openSync(options, signal);
  try {
    const loop = new SyncLoop(opened.parts);
    onStart(loop);
    await loop.run(signal);
  } finally {
    opened.close();
  }
}

/**
 * One round, for CI and cron: waits for every server, delivers to every target, ends.
 *
 * @throws {TypeError} if the options contradict each other
 * @throws {SnapshotError} if the snapshot cannot be sealed
 *
 * @example
 * ```ts
 * const routers = [{ url: routerUrl }];
 * const signingKey = privateJwk;
 * const options = { servers: [apiServer], routers, certificateAuthorities, clientCertificate, signingKey };
 * const { ok, deliveries } = await syncOnce(options, signal);
 * console.log(ok, deliveries.length); // true 1
 * ```
 */
export async function syncOnce(options: SyncOptions, signal: AbortSignal): Promise<SyncOnceResult> {
  // A server that may be restarting is not waited for: the next run reads it. Storage versions are, but not for all of the
  // time of a reading: one extension API server that hangs must not fail it.
  const { readTimeout = defaultTiming.readTimeout } = options.timing ?? {};
  const timing = { ...options.timing, departure: 0, storageVersionTimeout: readTimeout / 3 };
  const opened = await openSync(options, signal, timing, 0);
  try {
    return await runOnce(opened.parts, signal);
  } finally {
    opened.close();
  }
}

/**
 * How long a sync job that starts asks who may hold the last snapshot while nobody responds, milliseconds: a pod's network may not
 * be there yet, and without that snapshot a server that is down now would be forgotten by all.
 */
const holdersAskedFor = 5_000;

async function openSync(
  given: SyncOptions,
  signal: AbortSignal,
  timing: Partial<SyncTiming> | undefined = given.timing,
  patience: number = holdersAskedFor,
) {
  const access = given.kubernetes && (await loadClusterAccess(given.kubernetes, given.readFile, given.clock));
  const { routers = [], openClient } = given;
  const credentialsNow = async (): Promise<SyncCredentials> => {
    const own = ownCredentials(given);
    // Routers are pushed to as who reads the cluster, unless there is a certificate for them.
    const isFound = routers.length > 0 || own.certificateAuthorities === undefined;
    const found = isFound ? await access?.credentials() : undefined;
    return {
      ...own,
      certificateAuthorities: own.certificateAuthorities ?? found?.certificateAuthorities,
      clientCertificate: own.clientCertificate ?? found?.clientCertificate,
    };
  };
  const options = { ...given, ...(await credentialsNow()) };
  checkSyncOptions(options);
  const { logger = defaultLogger, record, files = [], targets = [] } = options;
  const recording = record === undefined ? undefined : await openRecording(record);
  const signingKey = options.signingKey === undefined ? undefined : signingKeyOf(options.signingKey);
  const ownKeys = options.signingKey === undefined ? [] : await publicHalfOf(options.signingKey);
  const keys = new Map([...(options.snapshotKeys ?? []), ...ownKeys]);
  // A Worker is in front of no API server, so it cannot advertise an address.
  const advertised = createAdvertisedAddresses(
    routers.filter(({ publicAuthorities }) => publicAuthorities !== true).map(({ url }) => url),
  );
  const pushed = routers.map(({ url, serverName, publicAuthorities = false }) =>
    httpsTarget({
      url,
      serverName,
      async credentials() {
        const now = await credentialsNow();
        const authorities = now.routerCertificateAuthorities ?? now.certificateAuthorities;
        return {
          clientCertificate: now.clientCertificate,
          certificateAuthorities: publicAuthorities ? undefined : authorities,
        };
      },
      bearerToken: options.routerBearerToken,
      onAdvertised: (address) => advertised.heard(url, address),
      openClient,
    }),
  );
  const allTargets = [...pushed, ...files.map(fileTarget), ...targets];
  const previous =
    options.previous ?? (await previousSnapshot({ holders: allTargets, keys, logger, patience }, signal));
  const client = new ApiClient({
    credentials: async () => {
      if (access !== undefined) return access.credentials();
      const { certificateAuthorities, clientCertificate } = ownCredentials(given);
      return { certificateAuthorities, clientCertificate, headers: [] };
    },
    via: options.via,
    userAgent: options.via === undefined ? 'mixed-version-proxy-sync' : undefined,
    openClient,
  });
  const parts: SyncParts = {
    clusterSource: openCluster(client, { ...given, previous, timing }, access, recording),
    targets: allTargets,
    signingKey,
    previous,
    advertised,
    clock: options.clock,
    cluster: options.cluster,
    // doctor compares them with those of another cluster.
    alwaysReadsSchemas: options.alwaysReadsSchemas === true || record !== undefined,
    timing,
    observer: options.observer,
    logger,
  };
  return {
    parts,
    close() {
      client.close();
      for (const target of pushed) target.close();
    },
  };
}

function ownCredentials(given: SyncCredentials & Pick<SyncOptions, 'credentials'>): SyncCredentials {
  const { certificateAuthorities, clientCertificate, routerCertificateAuthorities } =
    given.credentials?.() ?? given;
  return { certificateAuthorities, clientCertificate, routerCertificateAuthorities };
}

/** The API servers of a cluster: listed by hand, or found with a kubeconfig, and what they share. */
export function openCluster(
  client: ApiClient,
  given: Pick<
    SyncOptions,
    'servers' | keyof SyncCredentials | 'credentials' | 'local' | 'previous' | 'timing' | 'clock' | 'peers'
  >,
  access: ClusterAccess | undefined,
  recording?: Recording,
): ClusterSource {
  const { local, previous, timing, clock = systemClock } = given;
  const policy = createAddressPolicy(given.peers);
  const certificateAuthorities = () => ownCredentials(given).certificateAuthorities;
  /** At an address that an object of the cluster names. */
  const foundAt = (address: string): Endpoint => ({
    origin: `https://${address}`,
    serverName: apiServerName,
    certificateAuthorities,
    addressPolicy: policy,
  });
  const isListed = (id: string): boolean => given.servers.some((server) => server.id === id);
  const listedPlaces = new Set(given.servers.map(placeOfServer));
  const isListedAt = (address: string): boolean => listedPlaces.has(placeOf(address));
  const endpointOf = (server: ServerDescription): Endpoint | undefined => {
    const { id, readFrom, url, address, serverName = apiServerName } = server;
    const origin = readFrom ?? url ?? (address && `https://${address}`);
    if (origin === undefined) return undefined;
    // The operator has said where those are that are listed by hand.
    const addressPolicy = isListed(id) ? undefined : policy;
    return { origin, serverName, certificateAuthorities, addressPolicy };
  };
  /**
   * By the ID that it had at the start, or by the address of a Lease that it has got since. An endpoint without a Lease is
   * the local server under its ID alone: an endpoint that is gone must not seem to be there because the local server is.
   */
  const isLocal = (server: ServerDescription): boolean => {
    const address = server.holderIdentity === undefined ? undefined : addressOf(server);
    return server.id === local?.id || (address !== undefined && local?.isAt?.(address) === true);
  };
  let others: readonly Endpoint[] = [];
  const connection = client.watching(() => {
    if (access === undefined) return given.servers.flatMap((server) => endpointOf(server) ?? []);
    const named = { origin: access.server, serverName: access.serverName };
    // The kubeconfig's server may be a router.
    return local === undefined ? [named, ...others] : [local, ...others, named];
  });
  return new WatchedCluster({
    connection: recording?.ofCluster(connection) ?? connection,
    documentsOf: (server) => {
      const own = !isListed(server.id) && isLocal(server) ? local : undefined;
      const endpoint = own ?? endpointOf(server);
      if (endpoint === undefined) return undefined;
      const documents = client.documentsAt(endpoint);
      return recording?.ofServer(server.id, documents) ?? documents;
    },
    listed: given.servers.map((server) => ({ ...server, addressSource: 'listed' })),
    finding: access && {
      servingNames: (address, signal) => client.servingNames(foundAt(address), signal),
      refusal: (address) => (isListedAt(address) ? undefined : checkServerAddress(address, policy)),
      previous,
    },
    clock,
    timing,
    onServers: (servers) => {
      others = servers.flatMap((server) => {
        const address = isLocal(server) ? undefined : addressOf(server);
        if (address === undefined) return [];
        const found = foundAt(address);
        return isListed(server.id) ? { ...found, addressPolicy: undefined } : found;
      });
      // A recording is over after a round.
      if (recording === undefined) client.retain(new Set(servers.map(({ documents }) => documents)));
    },
  });
}
