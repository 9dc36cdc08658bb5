import * as v from 'valibot';
import { errorMessage } from '../runtime/errors.ts';
import { isSameJson } from '../runtime/same-json.ts';
import { backOffDelay, type Clock, waitAtMost } from '../runtime/time.ts';
import {
  listObjects,
  ReadError,
  type WatchConnection,
  withoutQuery,
  withReadTimeout,
} from './server-documents.ts';
import type { SyncTiming } from './timing.ts';

interface ReflectorOptions<Item> {
  /** Of the collection; may have a query. */
  readonly path: string;
  /** What is kept of an object. Throws {ReadError} for an object of another kind. */
  readonly project: (object: unknown) => Item;
  /** The part of an item whose change is reported. Default: the whole item. */
  readonly reported?: ((item: Item) => unknown) | undefined;
  readonly connection: WatchConnection;
  readonly clock: Clock;
  readonly timing: SyncTiming;
  /** In place of `timing.silence` while there are objects: for those that change all the time. Milliseconds. */
  readonly silenceWithItems?: number | undefined;
  /** Called after the items have changed, and when they can be read again or no longer. */
  readonly onChange: () => void;
}

export type Reflector<Item> = ReturnType<typeof createReflector<Item>>;

/** Until a kind that is not served is listed again, milliseconds. */
const unservedDelay = 60_000;
/** How long a server may take to end a watch after its lifetime, milliseconds. */
const lifetimeGrace = 10_000;
/** Longer than any object that etcd holds (1.5 MiB by default), with all escapes. */
const maximumLineLength = 16 * 1024 * 1024;

/** Everything must be listed again: the changes are compacted (410), or the kind is gone (404). */
class Expired extends Error {}

/** Lists and watches the objects of one kind, as client-go's reflector does. */
export function createReflector<Item>(options: ReflectorOptions<Item>) {
  const { path, project, connection, clock, timing, onChange } = options;
  const silenceNow = () => (items?.size ? (options.silenceWithItems ?? timing.silence) : timing.silence);
  const subject = `a watch of ${withoutQuery(path)}`;
  const reported = options.reported ?? ((item: Item): unknown => item);
  const attempted = Promise.withResolvers<void>();
  let items: Map<string, Item> | undefined;
  let failure: string | undefined;
  let failures = 0;
  /**
   * The age limit of a list: at first whatever the server's watch cache has, later what was seen. `undefined`: only
   * the newest is good enough, after a 410 or an answer that is of no use (as in client-go's reflector, relistResourceVersion).
   */
  let known: string | undefined = '0';

  function isOther(before: Item | undefined, after: Item | undefined): boolean {
    if (before === undefined || after === undefined) return before !== after;
    return !isSameJson(reported(before), reported(after));
  }

  function keep(next: Map<string, Item>): void {
    const before = items;
    items = next;
    const isSame =
      before?.size === next.size && [...next].every(([key, item]) => !isOther(before.get(key), item));
    if (!isSame) onChange();
  }

  /** @param item `undefined`: it is gone */
  function change(key: string, item: Item | undefined): void {
    const before = items?.get(key);
    if (item === undefined) items?.delete(key);
    else items?.set(key, item);
    if (isOther(before, item)) onChange();
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

  async function list(signal: AbortSignal): Promise<string | undefined> {
    const found = await withReadTimeout(timing.listTimeout, signal, (deadline) =>
      listObjects(connection, path, deadline, known),
    );
    if (found === undefined) return undefined;
    known = found.resourceVersion || '0';
    keep(new Map(found.items.map((object) => [objectKey(object), project(object)])));
    return found.resourceVersion || undefined;
  }

  /** Watches from `version` on, over one connection after the other, until something may be missing. */
  async function follow(version: string, signal: AbortSignal): Promise<void> {
    let from = version;
    while (!signal.aborted) {
      const openedAt = clock.monotonic();
      const lifetime = timing.watchLifetime * (0.9 + 0.2 * clock.random());
      const openedFrom = from;
      try {
        for await (const { type, object } of watch(from, lifetime, signal)) {
          if (type !== 'BOOKMARK') {
            change(objectKey(object), type === 'DELETED' ? undefined : project(object));
          }
          from = resourceVersionOf(object) ?? from;
          known = from;
        }
        // A server that ends each watch at once, without an event, must not be asked without end.
        const wasUseful = from !== openedFrom || clock.monotonic() - openedAt >= silenceNow();
        failures = wasUseful ? 0 : failures + 1;
      } catch (error) {
        if (signal.aborted) return;
        if (from !== openedFrom) failures = 0;
        if (error instanceof Expired) {
          known = undefined;
          // A first time is normal. A server that returns it for each watch must not be listed without end.
          if (from === openedFrom) failures++;
          return;
        }
        failed(error);
        // A server that refuses to continue from there (after a restore of etcd, for example) will refuse it again.
        if (error instanceof ReadError && error.code !== 'Unreachable') return;
      }
      await pause(signal);
    }
  }

  /**
   * The events of one watch. Ends when the server ends it, or after too long a silence: the next watch shows whether that
   * was an outage. A line that the connection broke off within is no event: the next watch continues from the last one.
   *
   * @throws {Expired | ReadError}
   */
  async function* watch(from: string, lifetime: number, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const attempt = new AbortController();
    const silence = silenceNow();
    const either = AbortSignal.any([signal, attempt.signal]);
    void clock.sleep(lifetime + lifetimeGrace, either).then(() => attempt.abort());
    try {
      const opening = connection.watch(watchPath(path, from, lifetime), either);
      const response = await waitAtMost(opening, silence, clock, either);
      if (response === 'timed-out') {
        throw new ReadError('Unreachable', `no response to ${subject} within ${silence} ms`);
      }
      const { status, chunks } = response;
      // 404: a new list shows whether the kind is not served at all, or only not by this server.
      if (status === 410 || status === 404) throw new Expired();
      if (status !== 200) throw new ReadError('UnexpectedStatus', `${subject} returned ${status}`);
      succeeded();
      const received = chunks[Symbol.asyncIterator]();
      let rest = '';
      while (!either.aborted) {
        // A connection to a peer that is gone can stay open and silent for ever.
        const result = await waitAtMost(received.next(), silenceNow(), clock, either);
        if (either.aborted || result === 'timed-out' || result.done === true) return;
        const lines = (rest + result.value).split('\n');
        rest = lines.pop() ?? '';
        if (rest.length > maximumLineLength) {
          throw new ReadError(
            'InvalidDocument',
            `an event of a watch is longer than ${maximumLineLength} characters`,
          );
        }
        for (const line of lines) if (line.trim() !== '') yield parseEvent(line, subject);
      }
    } finally {
      attempt.abort();
    }
  }

  const pause = (signal: AbortSignal) =>
    clock.sleep(backOffDelay(timing.watchBackOff, Math.max(failures, 1), clock.random()), signal);

  return {
    /** Lists and watches until `signal` aborts. Never rejects. Once only. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        try {
          const version = await list(signal);
          succeeded();
          attempted.resolve();
          if (version === undefined) await clock.sleep(unservedDelay, signal);
          else await follow(version, signal);
        } catch (error) {
          if (!signal.aborted) failed(error);
          if (error instanceof ReadError && error.code !== 'Unreachable') known = undefined;
          attempted.resolve();
        }
        await pause(signal);
      }
      attempted.resolve();
    },
    /**
     * As last known; `undefined` until the first list, so where the kind is not served. They stay while they cannot be
     * read.
     */
    items: (): readonly Item[] | undefined => items && [...items.values()],
    /** The first reason why they are not up to date; `undefined` if they are. */
    failure: () => failure,
    /** Resolves when the first attempt to list them has ended. */
    attempted: attempted.promise,
  };
}

function watchPath(path: string, from: string, lifetime: number): string {
  const query = new URLSearchParams({
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: from,
    timeoutSeconds: String(Math.ceil(lifetime / 1000)),
  });
  return `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

/** k8s.io/apimachinery pkg/watch/watch.go. */
const watchEvent = v.object({
  type: v.picklist(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: v.unknown(),
});
type WatchEvent = v.InferOutput<typeof watchEvent>;

const unknownReason = 'without a reason';
/** `metav1.Status`: after the response has begun, a watch can only report a failure as an event. */
const failureStatus = v.fallback(
  v.object({ code: v.optional(v.number()), message: v.optional(v.string(), unknownReason) }),
  { message: unknownReason },
);

/** @throws {Expired | ReadError} for a line that is no event, or that reports a failure */
function parseEvent(line: string, subject: string): WatchEvent {
  let event: WatchEvent;
  try {
    event = v.parse(watchEvent, JSON.parse(line));
  } catch (cause) {
    throw new ReadError('InvalidDocument', 'a line of a watch is not an event', { cause });
  }
  if (event.type !== 'ERROR') return event;
  const { code, message } = v.parse(failureStatus, event.object);
  throw code === 410 ? new Expired() : new ReadError('UnexpectedStatus', `${subject} failed: ${message}`);
}

const objectWithName = v.object({
  metadata: v.object({ name: v.string(), namespace: v.nullish(v.string(), '') }),
});
const objectWithVersion = v.object({
  metadata: v.object({ resourceVersion: v.pipe(v.string(), v.nonEmpty()) }),
});

/** `<namespace>/<name>`. @throws {ReadError} `InvalidDocument` for an object without a name */
export function objectKey(object: unknown): string {
  const parsed = v.safeParse(objectWithName, object);
  if (!parsed.success) throw new ReadError('InvalidDocument', 'an object has no name');
  const { name, namespace } = parsed.output.metadata;
  return `${namespace}/${name}`;
}

function resourceVersionOf(object: unknown): string | undefined {
  const parsed = v.safeParse(objectWithVersion, object);
  return parsed.success ? parsed.output.metadata.resourceVersion : undefined;
}
