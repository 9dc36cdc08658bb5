import type { MixedVersionProxyOptions } from '../proxy/options.ts';
import type { RoutingTable } from '../snapshot/routing-table.ts';
import {
  type CertificateStatus,
  type CredentialFiles,
  credentialFileWarnings,
  type KeyFileStatus,
} from './credential-files.ts';
import { type DocumentStatus, documentStatus } from './document-status.ts';

/** What `v1/status` shows. Times are RFC 3339. */
export interface RouterStatus extends DocumentStatus {
  readonly serverId: string;
  readonly enabled: boolean;
  readonly stalePolicy: string;
  /** `null`: there has been none. */
  readonly snapshot: {
    readonly generation: number;
    readonly createdAt: string;
    readonly expiresAt: string;
    readonly expired: boolean;
    readonly source: string;
  } | null;
  readonly servers: readonly {
    readonly id: string;
    readonly local: boolean;
    readonly address: string | null;
    readonly version: string | null;
    /** The sync job could not read it lately; what it serves is the last that is known. */
    readonly stale: boolean;
  }[];
  /** Empty on runtimes that read no certificates from files. */
  readonly certificates: readonly CertificateStatus[];
  readonly keyFiles: readonly KeyFileStatus[];
  /** What does not stop the router yet, and somebody should see to. */
  readonly warnings: readonly string[];
}

/** Pure. `now` in milliseconds since the epoch. */
export function routerStatus(
  options: Pick<MixedVersionProxyOptions, 'serverId' | 'enabled' | 'stalePolicy' | 'openApiV2'>,
  source: { current(): RoutingTable | undefined },
  now: number,
  credentialFiles: CredentialFiles = none,
): RouterStatus {
  const { serverId, enabled = true, stalePolicy = 'local' } = options;
  const table = source.current();
  return {
    serverId,
    enabled,
    stalePolicy,
    snapshot:
      table === undefined
        ? null
        : {
            generation: table.generation,
            createdAt: new Date(table.createdAt).toISOString(),
            expiresAt: new Date(table.expiresAt).toISOString(),
            expired: now >= table.expiresAt,
            source: table.snapshot.metadata.source,
          },
    servers: (table?.servers ?? []).map(({ id, origin, version, stale }) => ({
      id,
      local: id === serverId,
      address: origin?.replace('https://', '') ?? null,
      version: version ?? null,
      stale,
    })),
    ...documentStatus(table, options.openApiV2),
    certificates: credentialFiles.certificates(),
    keyFiles: credentialFiles.keyFiles(),
    warnings: credentialFileWarnings(credentialFiles),
  };
}

const none: CredentialFiles = { certificates: () => [], keyFiles: () => [] };
