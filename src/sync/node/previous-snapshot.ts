import type { Logger } from '../../observe/logger.ts';
import type { PinnedKeySet } from '../../snapshot/keys.ts';
import { openSnapshot } from '../../snapshot/open.ts';
import type { SnapshotStore } from '../../snapshot/snapshot-store.ts';
import type { Snapshot } from '../../snapshot/types.ts';
import type { HttpsTarget } from './https-target.ts';

export interface PreviousSnapshotSources {
  readonly store: SnapshotStore | undefined;
  readonly routers: readonly HttpsTarget[];
  /** Whatever is not signed with one of these is not gone on from. */
  readonly keys: PinnedKeySet;
  readonly logger: Logger;
}

/**
 * The newest snapshot that the state file or any router holds. Without it a restart while a server cannot be
 * read would take that server's routes away from routers that still know them.
 *
 * Never rejects: a sync job that finds nothing starts from nothing.
 */
export async function previousSnapshot(
  { store, routers, keys, logger }: PreviousSnapshotSources,
  signal: AbortSignal,
): Promise<Snapshot | undefined> {
  const found = await Promise.all([
    open('state file', async () => (await store?.load())?.snapshot),
    ...routers.map((router) => open(router.name, () => router.held(signal))),
  ]);
  return found.reduce(newer, undefined);

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
