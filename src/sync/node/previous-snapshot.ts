import type { Logger } from '../../runtime/logger.ts';
import type { Snapshot } from '../../snapshot/format/types.ts';
import type { SnapshotStore } from '../../snapshot/receiving/snapshot-store.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import { openSnapshot } from '../../snapshot/signing/open.ts';

/** Something outside that a snapshot was delivered to and can be asked back from. */
export interface SnapshotHolder {
  readonly name: string;
  /** Sealed; `undefined` when it holds none. @throws when it cannot be asked */
  held(signal: AbortSignal): Promise<string | undefined>;
}

export interface PreviousSnapshotSources {
  readonly store: SnapshotStore | undefined;
  readonly holders: readonly SnapshotHolder[];
  /** Whatever is not signed with one of these is not gone on from. */
  readonly keys: PinnedKeySet;
  readonly logger: Logger;
}

/**
 * The newest snapshot that the state file or any target holds. Without it a restart while a server cannot be
 * read would take that server's routes away from routers that still know them.
 *
 * Never rejects: a sync job that finds nothing starts from nothing.
 */
export async function previousSnapshot(
  { store, holders, keys, logger }: PreviousSnapshotSources,
  signal: AbortSignal,
): Promise<Snapshot | undefined> {
  const found = await Promise.all([
    open('state file', async () => (await store?.load())?.snapshot),
    ...holders.map(async (holder) => open(holder.name, await ask(holder))),
  ]);
  return found.reduce(newer, undefined);

  /** A router that is not up yet says nothing of an earlier run: at the first start of all there was none. */
  async function ask({ name, held }: SnapshotHolder): Promise<() => Promise<string | undefined>> {
    try {
      const jws = await held(signal);
      return async () => jws;
    } catch (err) {
      logger.info({ err, source: name }, 'it could not be asked whether it holds a snapshot to go on from');
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
