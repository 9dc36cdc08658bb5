/** State of the sync job in this router: what it last read of the cluster. */
export interface EmbeddedSyncStatus {
  /** Credentials in use: the path of a kubeconfig, or `in-cluster`. */
  readonly source: string;
  /** End of the last round, milliseconds since the epoch, whatever could be read in it; `undefined` before the first. */
  readonly lastRoundAt: number | undefined;
  /** The same of the last round in which a server could be read. */
  readonly lastReadAt: number | undefined;
  readonly servers: readonly {
    readonly id: string;
    /** `unknown`: nothing is known of it, and it is not in the snapshot. */
    readonly state: 'current' | 'stale' | 'departed' | 'unknown';
    /** Why it could not be read; `undefined` where it could. */
    readonly failure: string | undefined;
  }[];
  /** Things that it could not read. */
  readonly warnings: readonly string[];
}

/** Called for each status; `undefined` where snapshots are pushed. */
export type EmbeddedSyncSource = () => EmbeddedSyncStatus;

/** Its warnings for the operator. Pure. */
export function embeddedSyncWarnings(status: EmbeddedSyncStatus | undefined): readonly string[] {
  return status?.warnings ?? [];
}
