// The sync job's portable part: nothing here needs Node.

export type {
  ServerDescription,
  SnapshotInput,
  SnapshotOptions,
  SnapshotOutput,
} from './build-snapshot.ts';
export { buildSnapshot, defaultLifetimeSeconds } from './build-snapshot.ts';
export { type BackOff, type Clock, systemClock } from './clock.ts';
export type { FoundServer } from './cluster-input.ts';
export type { ClusterObjects } from './cluster-objects.ts';
export {
  type ClusterSource,
  type ClusterSourceOptions,
  type ClusterView,
  createClusterSource,
} from './cluster-source.ts';
export { type ClusterTiming, defaultClusterTiming } from './cluster-timing.ts';
export type { Delivery, DeliveryResult, SealedDelivery, SnapshotTarget } from './deliver.ts';
export { renewDelivery, sealDelivery } from './deliver.ts';
export type { ServerDocument, ServerDocuments } from './document-reader.ts';
export { ReadError, type ReadErrorCode } from './document-reader.ts';
export {
  createLeaderElector,
  defaultLeaderElectionTiming,
  type LeaderElectionOptions,
  type LeaderElectionTiming,
  type LeaderElector,
  leaderElectionTiming,
} from './leader-election.ts';
export type { Leadership } from './leadership.ts';
export type { LeaseClient, LeaseRecord, StoredLease } from './lease-record.ts';
export type { SyncObserver } from './observer.ts';
export { type ReadServerOptions, readServer } from './read-server.ts';
export { serverIdsOf } from './server-id.ts';
export type { OpenApiReading, ServerReading } from './server-reading.ts';
export { createSyncLoop, type ServerStatus, type SyncLoop, type SyncStatus } from './sync-loop.ts';
export { type SyncOnceResult, syncOnce } from './sync-once.ts';
export { defaultTiming, type SyncOptions, type SyncServer, type SyncTiming } from './sync-options.ts';
export type { TargetStatus } from './target-delivery.ts';
export type { WatchAnswer, WatchConnection } from './watch-connection.ts';
