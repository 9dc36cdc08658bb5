import type { JWK } from 'jose';
import type { HttpsServer } from '../../node/destinations/https-client.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import type { SnapshotOptions } from '../build-snapshot.ts';
import type { SnapshotTarget } from '../deliver.ts';
import type { SyncParts } from '../round.ts';
import type { ServerDescription } from '../sync-server.ts';
import type { Endpoint } from './api-client.ts';
import type { ClusterAccessOptions } from './cluster-access.ts';
import type { FileTargetOptions } from './targets.ts';

export interface ListedServer extends ServerDescription {
  /** `https://host:port` to read it at, if its address for routers leads to a router in front of it. */
  readonly readFrom?: string | undefined;
}

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

/** What a sync job is told, by flags, a file or a library's user. Texts are PEM. */
export interface SyncOptions
  extends SnapshotOptions,
    Pick<SyncParts, 'previous' | 'timing' | 'observer' | 'logger' | 'alwaysReadsSchemas'> {
  /** Listed by hand. With `kubernetes` it may be empty. */
  readonly servers: readonly ListedServer[];
  /**
   * Finds servers with this kubeconfig, and reads them with its credentials. `certificateAuthorities` are then those of
   * servers at their own addresses, and `clientCertificate` is for routers only. Each defaults to that of the kubeconfig.
   */
  readonly kubernetes?: ClusterAccessOptions | undefined;
  /** Verify API servers' serving certificates. Required without `kubernetes`. */
  readonly certificateAuthorities?: string | undefined;
  /** What names those, for messages: a flag, or a field of a file. */
  readonly authoritiesFrom?: string | undefined;
  readonly clientCertificate?: HttpsServer['clientCertificate'];
  readonly routers?: readonly RouterTarget[] | undefined;
  /** A signed one is also what the next run starts from, with what the routers hold. */
  readonly files?: readonly FileTargetOptions[] | undefined;
  /** More targets, for example the router that this runs in. */
  readonly targets?: readonly SnapshotTarget[] | undefined;
  /** New or empty folder that every response is written to. Then there need be nothing to deliver to. */
  readonly record?: string | undefined;
  /** The API server behind that router; only with `kubernetes`. */
  readonly local?: LocalApiServer | undefined;
  /** `Via` of each request, so that the router recognizes requests of its own. */
  readonly via?: string | undefined;
  /** Verify routers' serving certificates. Default: `certificateAuthorities`. */
  readonly routerCertificateAuthorities?: string | undefined;
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
}

/** The one check of the options, together with what a kubeconfig adds. @throws {TypeError} naming every error */
export function checkSyncOptions(options: SyncOptions): void {
  const issues: string[] = [];
  const { routers = [], files = [], targets = [], servers } = options;
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
  if (routers.length + files.length + targets.length === 0 && options.record === undefined) {
    issues.push('there is no router and no file to deliver to');
  }
  const hasIdentity = options.clientCertificate !== undefined || options.routerBearerToken !== undefined;
  if (routers.length > 0 && !hasIdentity) {
    issues.push('routers accept snapshots only from a client with a certificate or a token: give one');
  }
  const needsKey = routers.length > 0 || files.some((file) => !file.unsigned);
  if (needsKey && options.signingKey === undefined) {
    issues.push('there is no signing key: give one, or write files unsigned');
  }
  if (options.certificateAuthorities === undefined) {
    issues.push('there are no certificate authorities to verify API servers with: give them');
  }
  if (issues.length > 0) throw new TypeError(`The sync job cannot start: ${issues.join('; ')}.`);
}
