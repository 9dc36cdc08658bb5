import { SnapshotError } from '../format/snapshot-error.ts';
import type { RoutingTable } from '../routing-table/routing-table.ts';
import type { SnapshotRenewal } from '../signing/renewal.ts';
import type { StoredSnapshot } from './snapshot-store.ts';

/** A push that was taken. */
export interface Acceptance {
  /** `unchanged`: it was held already. */
  readonly result: 'accepted' | 'renewed' | 'unchanged';
  readonly generation: number;
  /** When what is held now was made or last renewed, milliseconds since the epoch. */
  readonly createdAt: number;
  /** False: in use, but the store could not be written, so a restart would not find it. */
  readonly persisted: boolean;
  /** Why it could not be written. */
  readonly persistenceError?: string | undefined;
}

/** Everything that is held, replaced as a whole. */
export interface Held {
  readonly table: RoutingTable;
  readonly digest: string;
  readonly stored: StoredSnapshot;
  readonly persisted: boolean;
}

export function acceptance(
  result: Acceptance['result'],
  table: RoutingTable,
  persistenceError: string | undefined,
): Acceptance {
  const { generation, createdAt } = table;
  const persisted = persistenceError === undefined;
  return { result, generation, createdAt, persisted, ...(persisted ? {} : { persistenceError }) };
}

export function isOlder(next: Held, held: Held | undefined): boolean {
  return held !== undefined && next.table.generation <= held.table.generation;
}

/** An old snapshot is validly signed for ever: only its number keeps it from being played back. */
export function requireRising(generation: number, held: Held | undefined): void {
  if (held === undefined || generation > held.table.generation) return;
  const rule =
    generation === held.table.generation
      ? 'is held with other content'
      : `is older than the one that is held, ${held.table.generation}`;
  throw new SnapshotError(
    'NotNewer',
    `Generation ${generation} ${rule}; a changed snapshot needs a higher one.`,
  );
}

export function requireHeld(held: Held | undefined, renewal: SnapshotRenewal): Held {
  if (held !== undefined && held.table.generation === renewal.generation && held.digest === renewal.digest) {
    return held;
  }
  const has = held === undefined ? 'no snapshot is held' : `generation ${held.table.generation} is held`;
  throw new SnapshotError(
    'NotNewer',
    `The renewal is for generation ${renewal.generation}, ${renewal.digest}; ${has}. Push the snapshot itself.`,
  );
}
