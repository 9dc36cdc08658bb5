import { canonicalJson } from '../../runtime/canonical-json.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { type BackOff, backOffDelay, type Clock } from '../../runtime/time.ts';
import { listObjectsIfServed } from './list-objects.ts';
import { type WatchConnection, withReadTimeout } from './server-documents.ts';
import { objectKey, watchOnce } from './watch-once.ts';

/** Milliseconds. */
export interface WatchTiming {
  /** For a complete list. */
  readonly listTimeout: number;
  /** A watch that is silent for this long is closed and opened again. */
  readonly silence: number;
  /** Everything is listed again this often, give or take a tenth. */
  readonly resync: number;
  /** Between attempts; its first delay also between watches that ended normally. */
  readonly backOff: BackOff;
}

interface ObjectWatchOptions<Item> {
  /** Path of the collection, with or without a selector. */
  readonly path: string;
  /** What is kept of an object. Throws {ReadError} for an object of another kind. */
  readonly project: (object: unknown) => Item;
  /** The part of an item whose change is reported. Default: the whole item. */
  readonly reported?: (item: Item) => unknown;
  readonly connection: WatchConnection;
  readonly clock: Clock;
  readonly timing: WatchTiming;
  /** Called after the items have changed, and when they can be read again or no longer. */
  readonly onChange: () => void;
}

/** The objects of one kind, kept up to date. */
export interface ObjectWatch<Item> {
  /** Lists and watches until `signal` aborts. Never rejects. Once only. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * As last known; `undefined` until the first list, so where the kind is not served. They stay while they cannot be
   * read. The same array until they change.
   */
  items(): readonly Item[] | undefined;
  /** The first reason why they are not up to date; `undefined` if they are. */
  failure(): string | undefined;
  /** Resolves when the first attempt to list them has ended. */
  readonly attempted: Promise<void>;
}

/** Until a kind that is not served is listed again, milliseconds. */
const unservedDelay = 60_000;

export function createObjectWatch<Item>(options: ObjectWatchOptions<Item>): ObjectWatch<Item> {
  const { path, project, connection, clock, timing, onChange } = options;
  const reportedText = (item: Item) => canonicalJson((options.reported?.(item) ?? item) as object);
  const attempted = Promise.withResolvers<void>();
  let items: ReadonlyMap<string, Item> | undefined;
  let listed: readonly Item[] | undefined;
  let failure: string | undefined;
  let failures = 0;

  function keep(next: ReadonlyMap<string, Item>): void {
    const before = items;
    items = next;
    listed = [...next.values()];
    if (before === undefined || isReportable(before, next)) onChange();
  }

  function isReportable(before: ReadonlyMap<string, Item>, after: ReadonlyMap<string, Item>): boolean {
    if (before.size !== after.size) return true;
    return [...after].some(([key, item]) => {
      const known = before.get(key);
      return known === undefined || (known !== item && reportedText(known) !== reportedText(item));
    });
  }

  function succeeded(): void {
    if (failure === undefined) return;
    failure = undefined;
    onChange();
  }

  function failed(error: unknown): void {
    failures++;
    // The first reason stays: a new one at each attempt would fill the log.
    if (failure !== undefined) return;
    failure = errorMessage(error);
    onChange();
  }

  /** @returns where to watch from; `undefined` if there is nothing to watch */
  async function list(signal: AbortSignal): Promise<string | undefined> {
    const found = await withReadTimeout(timing.listTimeout, signal, (deadline) =>
      listObjectsIfServed(connection, path, deadline),
    );
    if (found === undefined) return undefined;
    keep(new Map(found.items.map((object) => [objectKey(object), project(object)])));
    return found.resourceVersion === '' ? undefined : found.resourceVersion;
  }

  /** Watches from `version` on, over one connection after the other, until it is time to list again. */
  async function follow(version: string, signal: AbortSignal): Promise<void> {
    const listAgainAt = clock.monotonic() + resyncDelay();
    let from = version;
    while (!signal.aborted) {
      const lifetime = listAgainAt - clock.monotonic();
      if (lifetime < 1000) return;
      const openedAt = clock.monotonic();
      const outcome = await watchOnce({
        path,
        from,
        lifetimeMilliseconds: lifetime,
        silenceMilliseconds: timing.silence,
        connection,
        clock,
        signal,
        onObject: (type, object) => {
          const next = new Map(items);
          if (type === 'DELETED') next.delete(objectKey(object));
          else next.set(objectKey(object), project(object));
          keep(next);
        },
        onOpen: succeeded,
      });
      if (signal.aborted) return;
      if (outcome.kind === 'broken') {
        if (outcome.from !== from) failures = 0;
        failed(outcome.error);
        if (outcome.listAgain) return;
      } else if (outcome.kind === 'expired') {
        // A first time is normal. A server that returns it for each watch must not be listed without end.
        failures = outcome.from === from ? failures + 1 : 0;
        return;
      } else {
        // A server that ends each watch at once, without an event, must not be asked without end.
        const wasUseful = outcome.from !== from || clock.monotonic() - openedAt >= timing.silence;
        failures = wasUseful ? 0 : failures + 1;
      }
      from = outcome.from;
      await pause(signal);
    }
  }

  const resyncDelay = () => timing.resync * (0.9 + 0.2 * clock.random());
  const pause = (signal: AbortSignal) =>
    clock.sleep(backOffDelay(timing.backOff, Math.max(failures, 1), clock.random()), signal);

  return {
    async run(signal) {
      while (!signal.aborted) {
        try {
          const version = await list(signal);
          succeeded();
          attempted.resolve();
          if (version === undefined) await clock.sleep(Math.min(resyncDelay(), unservedDelay), signal);
          else await follow(version, signal);
        } catch (error) {
          if (!signal.aborted) failed(error);
          attempted.resolve();
        }
        await pause(signal);
      }
      attempted.resolve();
    },
    items: () => listed,
    failure: () => failure,
    attempted: attempted.promise,
  };
}
