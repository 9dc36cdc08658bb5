import type { EmbeddedSyncStatus } from '../../own-paths/status/status-sources.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { SnapshotReceiver } from '../../snapshot/receiving/receiver.ts';
import type { SyncObserver } from '../../sync/sync-observer.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import type { ExpiringCertificate } from '../credentials/credential-watch.ts';

/** What the sync job in a router gets of it. */
export interface EmbeddedSyncParts {
  /** The one way in for snapshots. */
  readonly receiver: SnapshotReceiver;
  /** The router's name in `Via`, so that it refuses a question of its own that comes back to it. */
  readonly pseudonym: string;
  readonly observer: SyncObserver | undefined;
  readonly logger: Logger;
}

/** The sync job in a router. */
export interface EmbeddedSync {
  /**
   * Makes ready what a configuration says, without any effect yet.
   * @returns how to go by it from now on
   * @throws {Error} when its kubeconfig cannot be used
   */
  prepare(config: ServeConfig): Promise<() => void>;
  /** Reads all servers at once: one is not as the snapshot has it. */
  hurry(): void;
  status(): EmbeddedSyncStatus;
  /** The certificate and the token of its kubeconfig, as they are now, where they say when they expire. */
  expiring(): Promise<readonly ExpiringCertificate[]>;
  /** Resolves when nothing is read any more. */
  stop(): Promise<void>;
}

/** Makes one. It stands above this folder (src/sync/node/embedded-sync.ts), so the caller that starts the router passes it in. */
export type OpenEmbeddedSync = (parts: EmbeddedSyncParts) => EmbeddedSync;

/** @returns `undefined` when the configuration asks for none */
export function embeddedSyncOf(
  { embeddedSync }: ServeConfig,
  open: OpenEmbeddedSync | undefined,
  parts: EmbeddedSyncParts,
): EmbeddedSync | undefined {
  if (embeddedSync === undefined) return undefined;
  if (open === undefined) throw new TypeError('To read a cluster, startRouter needs openEmbeddedSync.');
  return open(parts);
}
