import type { Logger } from '../../runtime/logger.ts';
import { createMemorySnapshotStore } from '../../snapshot/receiving/snapshot-store.ts';
import { isOld, type RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { SnapshotConfiguration } from '../configuration/configuration.ts';
import type { WaitUntil } from '../platform/bindings.ts';
import { createDurableObjectStore } from './durable-object-store.ts';
import { type SharedSnapshotStore, SharingReceiver } from './sharing-receiver.ts';

/** The receiver of an isolate, and what keeps it up to date. */
export async function createSnapshotKeeping(
  { keys, addressPolicy, object, initial }: SnapshotConfiguration,
  logger: Logger,
): Promise<{ readonly receiver: SharingReceiver; readonly refresh: SnapshotRefresh }> {
  const store = object === undefined ? createIsolateStore() : createDurableObjectStore(object);
  const receiver = new SharingReceiver({ keys: () => keys, addressPolicy, store, logger });
  if (initial !== undefined) await receiver.adopt({ snapshot: initial.trim() });
  return { receiver, refresh: new SnapshotRefresh({ receiver, logger }) };
}

/** In the isolate's own memory: there is no other writer, and it ends with the isolate. */
function createIsolateStore(): SharedSnapshotStore {
  return { ...createMemorySnapshotStore(), changed: async () => undefined, takeNoteOf() {} };
}

/** Milliseconds between two looks at the store: with the look itself, a change is in use within 2 s. */
const interval = 1_000;

interface SnapshotRefreshOptions {
  readonly receiver: { current(): RoutingTable | undefined; catchUp(): Promise<void> };
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: (() => number) | undefined;
  readonly logger: Logger;
}

/**
 * Keeps the snapshot of an isolate up to date, without a process in the background to do it.
 *
 * The rule: a request goes by the snapshot that is at hand, and when the last look at the store is a second old, a new
 * one is begun after the request. A request waits for a look only while the isolate has nothing to go by: before the
 * first look has ended, and, once a second at the most, where there is no snapshot or an old one (an isolate
 * that had no request for a while).
 *
 * No look is shared between requests: on Workers it belongs to the request that began it, and one that is broken off
 * would leave all others waiting.
 */
export class SnapshotRefresh {
  readonly #receiver: SnapshotRefreshOptions['receiver'];
  readonly #clock: () => number;
  readonly #logger: Logger;
  #begunAt = Number.NEGATIVE_INFINITY;
  #hasLooked = false;

  constructor({ receiver, clock = Date.now, logger }: SnapshotRefreshOptions) {
    this.#receiver = receiver;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** To be called for each request. @returns what it has to wait for; `undefined` when that is nothing. Never rejects. */
  beforeRequest(waitUntil: WaitUntil): Promise<void> | undefined {
    const now = this.#clock();
    if (!this.#hasLooked) return this.#look(now);
    const elapsed = now - this.#begunAt;
    // A clock that was set back counts as time passed.
    if (elapsed >= 0 && elapsed < interval) return undefined;
    const look = this.#look(now);
    const table = this.#receiver.current();
    if (table === undefined || isOld(table, now)) return look;
    waitUntil(look);
    return undefined;
  }

  async #look(now: number): Promise<void> {
    this.#begunAt = now;
    try {
      await this.#receiver.catchUp();
    } catch (error) {
      this.#logger.warn(
        { err: error },
        'The store of snapshots cannot be read: the one at hand stays in use',
      );
    }
    this.#hasLooked = true;
  }
}
