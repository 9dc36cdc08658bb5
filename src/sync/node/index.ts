// The sync job as a library: one round, a loop of them, and a folder of recorded responses.

export type { ClusterAccessOptions } from '../../node/configuration/serve-config.ts';
export { ClusterAccessError } from '../../node/credentials/cluster-access.ts';
export type { Delivery, DeliveryResult, SealedDelivery, SnapshotTarget, TargetStatus } from '../deliver.ts';
export { ReadError, type ReadErrorCode } from '../documents/server-documents.ts';
export type { ServerDescription, ServerReading, SyncObserver } from '../documents/sync-server.ts';
export type { SyncTiming } from '../documents/timing.ts';
export type { ServerStatus, SyncLoop, SyncStatus } from '../sync-loop.ts';
export type { SyncOnceResult } from '../sync-once.ts';
export { type SnapshotFromFolderOptions, snapshotFromFolder } from './recording.ts';
export { runSync, syncOnce } from './run-sync.ts';
export type { RouterTarget, SyncOptions } from './sync-options.ts';
export type { FileTargetOptions } from './targets.ts';
