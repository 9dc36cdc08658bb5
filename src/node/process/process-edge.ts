import type { networkInterfaces } from 'node:os';
import type { ReadFile } from '../credentials/cluster-access.ts';
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
  /** Of credentials. */
  readonly readFile?: ReadFile | undefined;
  readonly networkInterfaces?: typeof networkInterfaces | undefined;
  readonly machine?: Machine | undefined;
}
