import type { hostname, networkInterfaces } from 'node:os';
import type { EmbeddedSyncStatus } from '../../own-paths/status/status-sources.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { OwnSnapshotReceiver } from '../../snapshot/receiving/own-receiver.ts';
import type { SyncObserver } from '../../sync/documents/sync-server.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import type { ReadFile } from '../credentials/cluster-access.ts';
import type { ExpiringCertificate } from '../credentials/credential-watch.ts';
import type { OpenServerClient } from '../destinations/https-client.ts';
import type { OpenPool } from '../destinations/node-transport.ts';
import type { createFileSnapshotStore } from '../files/file-snapshot-store.ts';
import type { createRouterServer } from '../serving/server.ts';
import type { Machine } from './traffic-control.ts';

/**
 * Where a router's process ends: all that it opens and reads, so that one composition serves in production and in a
 * simulated cluster (test/simulation). Each part has a default: Node's own.
 */
export interface ProcessEdge {
  readonly openServer?: typeof createRouterServer | undefined;
  /** Carries clients' requests to API servers. */
  readonly openPool?: OpenPool | undefined;
  /** Asks API servers and routers what the sync job wants to know. */
  readonly openClient?: OpenServerClient | undefined;
  readonly openStore?: typeof createFileSnapshotStore | undefined;
  /** Reads the files of credentials. */
  readonly readFile?: ReadFile | undefined;
  readonly networkInterfaces?: typeof networkInterfaces | undefined;
  readonly hostname?: typeof hostname | undefined;
  readonly machine?: Machine | undefined;
}

export interface EmbeddedSyncParts {
  readonly receiver: OwnSnapshotReceiver;
  /** The router's name in `Via`, so that it refuses a question of its own that comes back to it. */
  readonly pseudonym: string;
  readonly observer: SyncObserver | undefined;
  readonly logger: Logger;
  readonly edge: Partial<Pick<ProcessEdge, 'openClient' | 'readFile' | 'networkInterfaces'>>;
}

export interface EmbeddedSync {
  /**
   * Makes ready what a configuration says, without any effect yet.
   * @returns how to go by it from now on
   * @throws {Error} when its kubeconfig cannot be used
   */
  prepare(config: ServeConfig): Promise<() => void>;
  /** The server says of itself what was not read. */
  hurry(id: string): void;
  status(): EmbeddedSyncStatus;
  /** The certificate and the token of its kubeconfig, as they are now, where they say when they expire. */
  expiring(): Promise<readonly ExpiringCertificate[]>;
  stop(): Promise<void>;
}

/** Makes one. It stands above this folder (src/sync/node/embedded-sync.ts), so the caller that starts the router passes it in. */
export type OpenEmbeddedSync = (parts: EmbeddedSyncParts) => EmbeddedSync;
