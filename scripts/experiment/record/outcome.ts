import { setTimeout as sleep } from 'node:timers/promises';
import type { ExampleStore } from '../../../demo/example-api-server/index.ts';
import type { StorageKey, StoredEvent } from '../../../demo/example-api-server/store.ts';
import type { Watcher } from '../clients/watcher.ts';
import { requestLabel } from '../clients/writer.ts';

/** Creations that arrived more than once, by what the store holds of them. */
export function doubledWrites(store: ExampleStore): string[] {
  const made = new Map<string, number>();
  for (const { event } of store.changesSince(0)) {
    const request = event.type === 'ADDED' ? event.object.metadata.labels?.[requestLabel] : undefined;
    if (request !== undefined) made.set(request, (made.get(request) ?? 0) + 1);
  }
  return [...made].filter(([, count]) => count > 1).map(([request]) => request);
}

/** Waits until the watches have all that has happened up to now, or the time is up. */
export async function untilCaughtUp(
  store: ExampleStore,
  watchers: readonly Watcher[],
  milliseconds: number,
): Promise<void> {
  const until = performance.now() + milliseconds;
  while (missedEvents(store, watchers).length > 0 && performance.now() < until) await sleep(250);
}

export interface MissedEvent {
  readonly watcher: Watcher;
  readonly event: StoredEvent;
}

/** The events that a watcher should have and has not. */
export function missedEvents(store: ExampleStore, watchers: readonly Watcher[]): MissedEvent[] {
  return watchers.flatMap((watcher) =>
    eventsOf(store, watcher.resource.storage, watcher.since)
      .filter(({ revision }) => !watcher.seen.has(revision))
      .map((event) => ({ watcher, event })),
  );
}

function eventsOf(store: ExampleStore, { group, resource }: StorageKey, since: number): StoredEvent[] {
  return store
    .changesSince(since)
    .filter(({ key }) => key.group === group && key.resource === resource)
    .map(({ event }) => event);
}

/** Follows when changes are made, to tell how late they arrive. */
export class ChangeTimes {
  readonly #made = new Map<number, number>();
  readonly stop: () => void;

  constructor(store: ExampleStore) {
    this.stop = store.onChange(() => this.#made.set(store.revision, performance.now()));
  }

  /** Milliseconds that the latest event of all took to reach a watcher. */
  longestDelay(watchers: readonly Watcher[]): number {
    let longest = 0;
    for (const { seen } of watchers) {
      for (const [revision, at] of seen) longest = Math.max(longest, at - (this.#made.get(revision) ?? at));
    }
    return longest;
  }
}
