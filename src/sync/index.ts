// The sync job's portable part: nothing here needs Node.

export type { SyncObserver } from '../observe/sync-observer.ts';
export { type BackOff, type Clock, systemClock } from '../runtime/clock.ts';
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
export type {
  SnapshotInput,
  SnapshotOptions,
  SnapshotOutput,
} from './content/build-snapshot.ts';
export { buildSnapshot } from './content/build-snapshot.ts';
export type { Delivery, DeliveryResult, SealedDelivery, SnapshotTarget } from './delivery/deliver.ts';
export { renewDelivery, sealDelivery } from './delivery/deliver.ts';
export type { TargetStatus } from './delivery/target-delivery.ts';
export type {
  ServerDocument,
  ServerDocuments,
  WatchConnection,
  WatchResponse,
} from './documents/server-documents.ts';
export { ReadError, type ReadErrorCode } from './documents/server-documents.ts';
export { type ReadServerOptions, readServer } from './servers/read-server.ts';
export type { OpenApiReading, ServerReading } from './servers/server-reading.ts';
export { createSyncLoop, type ServerStatus, type SyncLoop, type SyncStatus } from './sync-loop.ts';
export { type SyncOnceResult, syncOnce } from './sync-once.ts';
export { defaultTiming, type SyncOptions, type SyncTiming } from './sync-options.ts';
