import type { Logger } from '../../runtime/logger.ts';
import type { Snapshot } from '../../snapshot/format/types.ts';
import type { SnapshotStore } from '../../snapshot/receiving/snapshot-store.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import { openSnapshot } from '../../snapshot/signing/seal.ts';

/** A target that returns the snapshot that it holds. */
export interface SnapshotHolder {
  readonly name: string;
  /** Sealed; `undefined` if it holds none. @throws if it cannot be reached */
  held(signal: AbortSignal): Promise<string | undefined>;
}

export interface PreviousSnapshotSources {
  readonly store: SnapshotStore | undefined;
  readonly holders: readonly SnapshotHolder[];
  /** A snapshot that is not signed with one of these is not used. */
  readonly keys: PinnedKeySet;
  readonly logger: Logger;
}

/**
 * The newest snapshot that the state file or any target holds. Without it, after a restart routers would lose the routes
 * of a server that cannot be read.
 *
 * Never rejects: a sync job that finds none starts without.
 */
export async function previousSnapshot(
  { store, holders, keys, logger }: PreviousSnapshotSources,
  signal: AbortSignal,
): Promise<Snapshot | undefined> {
  const found = await Promise.all([
    open('state file', async () => (await store?.load())?.snapshot),
    ...holders.map(async (holder) => open(holder.name, await fetchFrom(holder))),
  ]);
  return found.reduce(newer, undefined);

  /** A router that is not up yet is normal at the very first start. */
  async function fetchFrom({ name, held }: SnapshotHolder): Promise<() => Promise<string | undefined>> {
    try {
      const jws = await held(signal);
      return async () => jws;
    } catch (err) {
      logger.info({ err, source: name }, 'the snapshot that it holds could not be read');
      return async () => undefined;
    }
  }

  async function open(
    source: string,
    load: () => Promise<string | undefined>,
  ): Promise<Snapshot | undefined> {
    try {
      const jws = await load();
      return jws === undefined ? undefined : (await openSnapshot(jws, keys)).snapshot;
    } catch (err) {
      logger.warn({ err, source }, 'the snapshot of an earlier run cannot be used');
      return undefined;
    }
  }
}

function newer(one: Snapshot | undefined, other: Snapshot | undefined): Snapshot | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.metadata.generation > one.metadata.generation ? other : one;
}
