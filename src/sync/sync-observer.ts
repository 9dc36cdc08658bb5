/** Observes the sync job, for metrics. Must not throw. */
export interface SyncObserver {
  /** One API server was read, or could not be. */
  serverRead(event: { readonly seconds: number; readonly result: 'success' | 'failure' }): void;
  /** One delivery to a target has ended. */
  delivered(event: {
    /** The target's configured name. */
    readonly target: string;
    readonly seconds: number;
    readonly result: 'accepted' | 'newer-held' | 'refused' | 'unreachable';
  }): void;
}
