import type { Logger } from '../../runtime/logger.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import type { SnapshotStore } from '../../snapshot/receiving/snapshot-store.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import { openSnapshot } from '../../snapshot/signing/open-sealed.ts';
import type { SnapshotTarget } from '../delivery/deliver.ts';

/** A target over the network that returns the snapshot that it holds. */
export interface HoldingTarget extends SnapshotTarget {
  /**
   * The sealed snapshot that it holds; `undefined` if it holds none.
   * @throws if it cannot be reached
   */
  held(signal: AbortSignal): Promise<string | undefined>;
  close(): Promise<void>;
}

export type SnapshotHolder = Pick<HoldingTarget, 'name' | 'held'>;

interface PreviousSnapshotSources {
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
    open(
      'state file',
      store?.load().then((stored) => stored?.snapshot),
    ),
    ...holders.map((holder) => open(holder.name, read(holder))),
  ]);
  return found.reduce(newer, undefined);

  /** A router that is not up yet is normal at the very first start. */
  async function read({ name, held }: SnapshotHolder): Promise<string | undefined> {
    try {
      return await held(signal);
    } catch (err) {
      logger.info({ err, source: name }, 'The snapshot that a target holds could not be read');
      return undefined;
    }
  }

  async function open(
    source: string,
    sealed: Promise<string | undefined> | undefined,
  ): Promise<Snapshot | undefined> {
    try {
      const jws = await sealed;
      return jws === undefined ? undefined : (await openSnapshot(jws, keys)).snapshot;
    } catch (err) {
      logger.warn({ err, source }, 'The snapshot of an earlier run cannot be used');
      return undefined;
    }
  }
}

function newer(one: Snapshot | undefined, other: Snapshot | undefined): Snapshot | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.metadata.generation > one.metadata.generation ? other : one;
}
