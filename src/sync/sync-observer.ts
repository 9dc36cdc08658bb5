/** Observes the sync job, for metrics. Must not throw. */
export interface SyncObserver {
  serverRead(event: { readonly seconds: number; readonly result: 'success' | 'failure' }): void;
  delivered(event: {
    readonly target: string;
    readonly seconds: number;
    readonly result: 'accepted' | 'newer-held' | 'refused' | 'unreachable';
  }): void;
}
