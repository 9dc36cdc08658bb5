import { canonicalJson } from '../../runtime/canonical-json.ts';
import { type BackOff, backOffDelay, type Clock } from '../../runtime/clock.ts';
import { withDeadline } from '../../runtime/deadline.ts';
import { listObjectsIfServed } from './list-objects.ts';
import { ReadError } from './server-documents.ts';
import type { WatchConnection } from './watch-connection.ts';
import { followOnce } from './watch-once.ts';
import { objectKey } from './watched-object.ts';

/** Milliseconds. */
export interface WatchTiming {
  /** For a whole list. */
  readonly listTimeout: number;
  /** A watch on which nothing comes for this long is dropped and opened again. */
  readonly silence: number;
  /** Everything is listed again this often, give or take a tenth. */
  readonly resync: number;
  /** Between attempts; the first of it also between watches that ended well. */
  readonly backOff: BackOff;
}

export interface ObjectWatchOptions<Item> {
  /** Path of the collection, with a selector or without. */
  readonly path: string;
  /** What is kept of an object. Throws {ReadError} for what is none of its kind. */
  readonly project: (object: unknown) => Item;
  /** What of an item is worth telling when it changes. Default: all of it. */
  readonly news?: (item: Item) => unknown;
  readonly connection: WatchConnection;
  readonly clock: Clock;
  readonly timing: WatchTiming;
  /** Called after the items changed, or can be listed or no longer. */
  readonly onChange: () => void;
}

/** The objects of one kind, kept up to date. */
export interface ObjectWatch<Item> {
  /** Lists and watches until `signal` aborts. Never rejects. Once only. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * As last known; `undefined` until they could be listed. They stay while they cannot be read. The same array
   * until there are others.
   */
  items(): readonly Item[] | undefined;
  /** Why they are not up to date, as it began; `undefined` when they are. */
  failure(): string | undefined;
  /** Resolves when they were listed, or could not be, for the first time. */
  readonly attempted: Promise<void>;
}

/** Between looks whether a kind that is not served has come to be, milliseconds. */
const unservedDelay = 60_000;

export function createObjectWatch<Item>(options: ObjectWatchOptions<Item>): ObjectWatch<Item> {
  const { path, project, connection, clock, timing, onChange } = options;
  const newsOf = (item: Item) => canonicalJson((options.news?.(item) ?? item) as object);
  const attempted = Promise.withResolvers<void>();
  let items: ReadonlyMap<string, Item> | undefined;
  let listed: readonly Item[] | undefined;
  let failure: string | undefined;
  let failures = 0;

  function keep(next: ReadonlyMap<string, Item>): void {
    const before = items;
    items = next;
    listed = [...next.values()];
    if (before === undefined || tellsNews(before, next)) onChange();
  }

  function tellsNews(before: ReadonlyMap<string, Item>, after: ReadonlyMap<string, Item>): boolean {
    if (before.size !== after.size) return true;
    return [...after].some(([key, item]) => {
      const known = before.get(key);
      return known === undefined || (known !== item && newsOf(known) !== newsOf(item));
    });
  }

  function answered(): void {
    if (failure === undefined) return;
    failure = undefined;
    onChange();
  }

  function failed(error: unknown): void {
    failures++;
    // The first reason stands while it lasts: told anew at each attempt, it would fill the log.
    if (failure !== undefined) return;
    failure = error instanceof Error ? error.message : String(error);
    onChange();
  }

  /** @returns where to watch from; `undefined` where there is nothing to watch */
  async function list(signal: AbortSignal): Promise<string | undefined> {
    const tooSlow = () => new ReadError('Unreachable', `no whole list within ${timing.listTimeout} ms`);
    const found = await withDeadline(timing.listTimeout, signal, tooSlow, (deadline) =>
      listObjectsIfServed(connection, path, deadline),
    );
    if (found === undefined) {
      // Behind one address there may be servers that have the API and others that have not.
      keep(items ?? new Map());
      return undefined;
    }
    keep(new Map(found.items.map((object) => [objectKey(object), project(object)])));
    return found.resourceVersion === '' ? undefined : found.resourceVersion;
  }

  /** Watches from `version` on, over as many connections as it takes, until it is time to list again. */
  async function follow(version: string, signal: AbortSignal): Promise<void> {
    const listAgainAt = clock.monotonic() + resyncDelay();
    let from = version;
    while (!signal.aborted) {
      const lifetime = listAgainAt - clock.monotonic();
      if (lifetime < 1000) return;
      const openedAt = clock.monotonic();
      const outcome = await followOnce({
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
        onAnswered: answered,
      });
      if (signal.aborted) return;
      if (outcome.kind === 'broken') {
        if (outcome.from !== from) failures = 0;
        failed(outcome.error);
        if (outcome.listAgain) return;
      } else if (outcome.kind === 'expired') {
        // Once is nothing; a server that answers each watch with it must not be listed without end.
        failures = outcome.from === from ? failures + 1 : 0;
        return;
      } else {
        // One that ends at once, with nothing, is a server that would be asked without end.
        const wasOfUse = outcome.from !== from || clock.monotonic() - openedAt >= timing.silence;
        failures = wasOfUse ? 0 : failures + 1;
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
          answered();
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
