/** The finished Worker, and its parts for a Worker of one's own (src/README.md). */

export type {
  DurableObjectNamespace,
  DurableObjectState,
  ExecutionContext,
  Fetcher,
} from './platform/bindings.ts';
export { type PlatformRequest, WorkerInboundRequest } from './platform/worker-inbound.ts';
export {
  createSharedSnapshots,
  type SharedSnapshots,
  type SharedSnapshotsOptions,
} from './snapshot/snapshot-keeping.ts';
export { default, SnapshotObject } from './worker/index.ts';
