import { setTimeout as sleep } from 'node:timers/promises';
import type { ExampleStore } from '../../../demo/example-api-server/index.ts';
import type { StorageKey, StoredEvent } from '../../../demo/example-api-server/store.ts';
import type { Watcher } from '../clients/watcher.ts';

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
