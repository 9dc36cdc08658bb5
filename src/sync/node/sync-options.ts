import type { JWK } from 'jose';
import type { ClusterAccessOptions } from '../../node/configuration/serve-config.ts';
import type { ReadFile } from '../../node/credentials/cluster-access.ts';
import type { HttpsServer, OpenServerClient } from '../../node/destinations/https-client.ts';
import type { Clock } from '../../runtime/time.ts';
import type { AddressPolicyOptions } from '../../snapshot/addresses/address-policy.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import type { SnapshotTarget } from '../deliver.ts';
import type { ServerDescription } from '../documents/sync-server.ts';
import type { SyncParts } from '../sync-parts.ts';
import type { Endpoint } from './api-client.ts';
import type { FileTargetOptions } from './targets.ts';

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
  /** As the router was given it. Default: the server is known by its address alone. */
  readonly id?: string | undefined;
  /** True if an address, `host:port`, leads to it: it may get a Lease, and so another ID. Default: none is known to. */
  readonly isAt?: ((address: string) => boolean) | undefined;
}

/** Credentials that the sync job reads and pushes with. PEM. */
export interface SyncCredentials {
  /** Verify API servers' serving certificates. Required without `kubernetes`. */
  readonly certificateAuthorities?: string | undefined;
  readonly clientCertificate?: HttpsServer['clientCertificate'];
  /** Verify routers' serving certificates. Default: `certificateAuthorities`. */
  readonly routerCertificateAuthorities?: string | undefined;
}

/** Options of a sync job, by flags, a file or a library's user. Texts are PEM. */
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
export function checkSyncOptions(options: SyncOptions): void {
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

/** Credentials that are in use now. */
export function ownCredentials(given: SyncCredentials & Pick<SyncOptions, 'credentials'>): SyncCredentials {
  const { certificateAuthorities, clientCertificate, routerCertificateAuthorities } =
    given.credentials?.() ?? given;
  return { certificateAuthorities, clientCertificate, routerCertificateAuthorities };
}
