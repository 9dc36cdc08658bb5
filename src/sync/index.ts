// The sync job's portable part: nothing here needs Node.

export { type BackOff, type Clock, systemClock } from '../runtime/time.ts';
export type { FoundServer } from './cluster/cluster-input.ts';
export type { ClusterObjects } from './cluster/cluster-objects.ts';
export {
  type ClusterSource,
  type ClusterSourceOptions,
  type ClusterTiming,
  type ClusterView,
  createClusterSource,
  defaultClusterTiming,
} from './cluster/cluster-source.ts';
export { serverIdsOf } from './cluster/server-id.ts';
export type { ServerDescription, SyncServer } from './cluster/sync-server.ts';
export {
  buildSnapshot,
  type SnapshotInput,
  type SnapshotOptions,
  type SnapshotOutput,
} from './content/build-snapshot.ts';
export {
  type Delivery,
  type DeliveryResult,
  renewDelivery,
  type SealedDelivery,
  type SnapshotTarget,
  sealDelivery,
} from './delivery/deliver.ts';
export type { SyncObserver } from './delivery/sync-observer.ts';
export type { TargetStatus } from './delivery/target-delivery.ts';
export {
  ReadError,
  type ReadErrorCode,
  type ServerDocument,
  type ServerDocuments,
  type WatchConnection,
  type WatchResponse,
} from './documents/server-documents.ts';
export { type ReadServerOptions, readServer } from './servers/read-server.ts';
export type { OpenApiReading, ServerReading } from './servers/server-reading.ts';
export { createSyncLoop, type ServerStatus, type SyncLoop, type SyncStatus } from './sync-loop.ts';
export { type SyncOnceResult, syncOnce } from './sync-once.ts';
export { defaultTiming, type SyncOptions, type SyncTiming } from './sync-options.ts';
