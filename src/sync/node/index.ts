// The sync job on Node: live and recorded API servers, routers over mTLS, files.
export * from '../index.ts';
export {
  type ClusterAccess,
  ClusterAccessError,
  type ClusterAccessOptions,
  type ClusterCredentials,
  loadClusterAccess,
} from './cluster-access.ts';
export { type FileTargetOptions, fileTarget } from './file-target.ts';
export { type HttpsTarget, type HttpsTargetOptions, httpsTarget } from './https-target.ts';
export { type LiveDocumentsOptions, liveDocuments } from './live-documents.ts';
export { type OpenCluster, type OpenClusterOptions, openCluster } from './open-cluster.ts';
export {
  type ProcessEndpoints,
  type ProcessEndpointsOptions,
  startProcessEndpoints,
} from './process-endpoints.ts';
export { type RecordResult, recordCluster, runRecording } from './record-cluster.ts';
export { recordedDocuments } from './recorded-documents.ts';
export { type PreparedSync, prepareSync, runSync, runSyncOnce } from './run-sync.ts';
export type { ReadingOptions, RunSyncOptions, RunSyncRouter, RunSyncServer } from './run-sync-options.ts';
export { type SnapshotFromFolderOptions, snapshotFromFolder } from './snapshot-from-folder.ts';
export { createSyncMetrics, type SyncMetrics } from './sync-metrics.ts';
