import type { Logger } from '../../runtime/logger.ts';
import type { AddressPolicy } from '../addresses/address-policy.ts';
import type { SnapshotErrorCode } from '../format/snapshot-error.ts';
import type { PinnedKeySet } from '../signing/keys.ts';
import type { Acceptance } from './held-snapshot.ts';
import type { SnapshotStore } from './snapshot-store.ts';

export interface SnapshotReceiverOptions {
  /** Asked for each snapshot, so that a reloaded key file counts from then on. */
  readonly keys: () => PinnedKeySet;
  /**
   * The sync job runs in this process and hands its snapshots to `acceptOwn`. Nothing that is pushed is taken then, and
   * what is stored is not signed. Default false.
   */
  readonly readsClusterItself?: boolean | undefined;
  readonly addressPolicy: AddressPolicy;
  readonly store: SnapshotStore;
  /** Milliseconds since the epoch; default `Date.now`. */
  readonly now?: (() => number) | undefined;
  readonly logger?: Logger | undefined;
  /** Told how each push has ended, for metrics. Must not throw. */
  readonly onPush?: ((result: PushResult) => void) | undefined;
}

/** How a push has ended: accepted, refused for a reason, or failed by an internal error. */
export type PushResult = Acceptance['result'] | SnapshotErrorCode | 'InternalError';

/** A push that was refused since the last one that was taken. */
export interface RefusedPush {
  readonly code: SnapshotErrorCode;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export type RestoreResult =
  | { readonly result: 'restored'; readonly generation: number; readonly createdAt: number }
  | { readonly result: 'empty' }
  /** Something is stored and cannot be used. */
  | { readonly result: 'refused'; readonly error: Error };
