import type { JWK } from 'jose';
import type { Logger } from '../../runtime/logger.ts';
import type { Snapshot } from '../../snapshot/format/types.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import type { ServerDescription } from '../cluster/sync-server.ts';
import type { SnapshotTarget } from '../delivery/deliver.ts';
import type { SyncObserver } from '../delivery/observer.ts';
import type { SyncTiming } from '../sync-options.ts';
import type { ClusterAccessOptions } from './cluster-access.ts';
import type { FileTargetOptions } from './file-target.ts';
import type { WorkersKvTargetOptions } from './workers-kv-target.ts';

/** An API server, listed by hand. */
export interface RunSyncServer extends ServerDescription {
  /** `https://host:port` to read it at, where that is not its address for routers (a router in front of it). */
  readonly readFrom?: string | undefined;
}

export interface RunSyncRouter {
  /** `https://host:port`; of a Worker, the address it is deployed at. */
  readonly url: string;
  /** Default: the host of `url`. */
  readonly serverName?: string | undefined;
  /** Its certificate is checked against the public authorities, as a Worker's must be. Default false. */
  readonly publicAuthorities?: boolean | undefined;
}

/** The API server that a router stands in front of, for the sync job in that router. */
export interface LocalApiServer {
  readonly id: string;
  /** `https://host:port`. */
  readonly origin: string;
  /** The name its certificate must carry. */
  readonly serverName: string;
  /** PEM. */
  readonly certificateAuthorities: string;
}

/** Of several sync jobs that name the same Lease, one delivers. */
export interface RunSyncLeaderElection {
  readonly namespace: string;
  readonly name: string;
  /** Default: the host's name and a random part. */
  readonly identity?: string | undefined;
  /** Milliseconds, whole seconds. Default 15,000; the other times follow from it. */
  readonly leaseDuration?: number | undefined;
}

/** What it takes to read API servers. */
export interface ReadingOptions {
  readonly servers: readonly RunSyncServer[];
  /** PEM: what API servers' serving certificates are checked against. */
  readonly certificateAuthorities: string;
  /** PEM pair of the sync job, presented to API servers, and to routers. */
  readonly clientCertificate?: { readonly certificate: string; readonly key: string } | undefined;
  /** For API servers, in place of the certificate or beside it. */
  readonly bearerToken?: (() => string | Promise<string>) | undefined;
}

export interface RunSyncOptions extends Omit<ReadingOptions, 'certificateAuthorities'> {
  /**
   * Finds servers by what the cluster says, and goes there with what this names: `certificateAuthorities` are then
   * those of servers at their own addresses, `clientCertificate` and `bearerToken` are for routers alone. Each
   * defaults to what the kubeconfig has.
   */
  readonly kubernetes?: ClusterAccessOptions | undefined;
  /** PEM: what API servers' serving certificates are checked against. Needed without `kubernetes`. */
  readonly certificateAuthorities?: string | undefined;
  readonly routers?: readonly RunSyncRouter[] | undefined;
  readonly workersKv?: readonly WorkersKvTargetOptions[] | undefined;
  readonly files?: readonly FileTargetOptions[] | undefined;
  /** Further targets: the router that this runs in. */
  readonly targets?: readonly SnapshotTarget[] | undefined;
  /** What that router holds, to go on from. */
  readonly previous?: Snapshot | undefined;
  /** The server in front of which that router stands; with `kubernetes` only. */
  readonly local?: LocalApiServer | undefined;
  /** `Via` of every request, by which that router knows one that comes back to it; with `kubernetes` only. */
  readonly via?: string | undefined;
  /** PEM: what routers' serving certificates are checked against. Default: `certificateAuthorities`. */
  readonly routerCertificateAuthorities?: string | undefined;
  /** For routers, in place of the certificate or beside it. Routers take nobody without one of them. */
  readonly routerBearerToken?: (() => string | Promise<string>) | undefined;
  /** Private JWK, as `keygen` makes it. */
  readonly signingKey?: JWK | undefined;
  /**
   * Public keys that the snapshot to go on from may be signed with, beside the signing key's own: the one before it
   * in a rotation, those of other sync jobs.
   */
  readonly snapshotKeys?: PinnedKeySet | undefined;
  /** Where the last snapshot outlives the process. Its directory must exist. */
  readonly stateFile?: string | undefined;
  /** Default: this sync job runs alone. */
  readonly leaderElection?: RunSyncLeaderElection | undefined;
  readonly cluster?: string | undefined;
  /**
   * How long what a server served stays known after it has left, which it may have for a restart: 503, and not 404.
   * 0: not at all. Of servers that were found; those that are listed never leave. Default 900,000.
   */
  readonly departedServerGraceMilliseconds?: number | undefined;
  /**
   * Whether servers of several minor versions are asked how they understand what they serve. Default true; false while
   * there are routers that refuse a snapshot which tells it.
   */
  readonly comparesSchemas?: boolean | undefined;
  /** Default 300. */
  readonly lifetimeSeconds?: number | undefined;
  readonly timing?: Partial<SyncTiming> | undefined;
  readonly observer?: SyncObserver | undefined;
  readonly logger?: Logger | undefined;
}

/** Options that can work. */
export type CheckedSyncOptions = RunSyncOptions & ReadingOptions;

/** @throws {TypeError} naming every fault */
export function checkRunSyncOptions(options: RunSyncOptions): CheckedSyncOptions {
  const faults: string[] = [];
  const {
    routers = [],
    workersKv = [],
    files = [],
    targets: further = [],
    servers,
    leaderElection,
    certificateAuthorities,
  } = options;
  const targets = routers.length + workersKv.length;
  if (targets + files.length + further.length === 0)
    faults.push('there is no router and no file to deliver to');
  const hasIdentity = options.clientCertificate !== undefined || options.routerBearerToken !== undefined;
  if (routers.length > 0 && !hasIdentity) {
    faults.push('routers take snapshots only from a client with a certificate or a token: give one');
  }
  const needsKey = targets > 0 || options.stateFile !== undefined || files.some((file) => !file.unsigned);
  if (needsKey && options.signingKey === undefined) {
    faults.push('there is no signing key: give one, or write files unsigned');
  }
  if (certificateAuthorities === undefined) {
    faults.push('there are no certificate authorities to check API servers against: name them');
  }
  for (const { id, address, url, readFrom } of servers) {
    if (address === undefined && url === undefined && readFrom === undefined) {
      faults.push(`server ${id} has no address to read it at`);
    }
  }
  const duration = leaderElection?.leaseDuration ?? 15_000;
  if (!Number.isInteger(duration / 1000) || duration < 1000) {
    faults.push(`a Lease is held for whole seconds, not for ${duration} ms`);
  }
  if (faults.length > 0 || certificateAuthorities === undefined) {
    throw new TypeError(`The sync job cannot start: ${faults.join('; ')}.`);
  }
  return { ...options, certificateAuthorities };
}

/** `https://host:port` that a server is read at. */
export function readingOriginOf({ readFrom, address, url }: RunSyncServer): string {
  return readFrom ?? url ?? `https://${address}`;
}
