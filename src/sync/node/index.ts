// The sync job on Node: live and recorded API servers, routers over mTLS, files.
export * from '../index.ts';
export { type FileTargetOptions, fileTarget } from './file-target.ts';
export { type HttpsTarget, type HttpsTargetOptions, httpsTarget } from './https-target.ts';
export { type LiveDocumentsOptions, liveDocuments } from './live-documents.ts';
export { recordedDocuments } from './recorded-documents.ts';
export {
  type PreparedSync,
  prepareSync,
  type RunSyncOptions,
  type RunSyncRouter,
  type RunSyncServer,
  runSync,
  runSyncOnce,
} from './run-sync.ts';
export { type SnapshotFromFolderOptions, snapshotFromFolder } from './snapshot-from-folder.ts';
