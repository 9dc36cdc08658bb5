import * as v from 'valibot';
import { canonicalJson } from '../runtime/canonical-json.ts';
import { errorMessage } from '../runtime/errors.ts';
import { type BackOff, backOffDelay, type Clock, waitAtMost } from '../runtime/time.ts';
import {
  listObjectsIfServed,
  ReadError,
  type WatchConnection,
  withoutQuery,
  withReadTimeout,
} from './server-documents.ts';

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

interface WatchOnceOptions {
  readonly path: string;
  /** The resourceVersion that is already known. */
  readonly from: string;
  /** The server is asked to end the watch after this time. If it does not, the watch is ended here. */
  readonly lifetimeMilliseconds: number;
  readonly silenceMilliseconds: number;
  readonly connection: WatchConnection;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called in the order of the changes. If it throws, the watch is broken. */
  readonly onObject: (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: unknown) => void;
  /** Called when the server has accepted the watch. */
  readonly onOpen: () => void;
}

/** How a watch ended. `from`: where the next one starts. */
type WatchOutcome =
  /** Normally, or after too long a silence. The next watch shows whether that was an outage. */
  | { readonly kind: 'ended'; readonly from: string }
  /** Everything must be listed again: the changes since `from` are compacted (410), or the kind is gone. */
  | { readonly kind: 'expired'; readonly from: string }
  | {
      readonly kind: 'broken';
      readonly from: string;
      readonly error: unknown;
      /** The server was reached, and its response does not allow the watch to continue. */
      readonly listAgain: boolean;
    };

/** How long a server may take to end a watch after its lifetime, milliseconds. */
const lifetimeGrace = 10_000;

export async function watchOnce(options: WatchOnceOptions): Promise<WatchOutcome> {
  const { connection, clock, signal, silenceMilliseconds } = options;
  const subject = `a watch of ${withoutQuery(options.path)}`;
  let { from } = options;
  const attempt = new AbortController();
  const either = AbortSignal.any([signal, attempt.signal]);
  void clock.sleep(options.lifetimeMilliseconds + lifetimeGrace, either).then(() => attempt.abort());
  try {
    const opening = connection.watch(watchPath(options), either);
    const response = await waitAtMost(opening, silenceMilliseconds, clock, either);
    if (response === 'timed-out') {
      throw new ReadError('Unreachable', `no response to ${subject} within ${silenceMilliseconds} ms`);
    }
    const { status, chunks } = response;
    // 404: a new list shows whether the kind is not served at all, or only not by this server.
    if (status === 410 || status === 404) return { kind: 'expired', from };
    if (status !== 200) throw new ReadError('UnexpectedStatus', `${subject} returned ${status}`);
    options.onOpen();
    for await (const { type, object } of watchEvents(
      untilSilent(chunks, silenceMilliseconds, clock, either),
    )) {
      if (type === 'ERROR') {
        const { code, message } = v.parse(failureStatus, object);
        if (code === 410) return { kind: 'expired', from };
        throw new ReadError('UnexpectedStatus', `${subject} failed: ${message}`);
      }
      if (type !== 'BOOKMARK') options.onObject(type, object);
      from = resourceVersionOf(object) ?? from;
    }
    return { kind: 'ended', from };
  } catch (error) {
    // A server that refuses to continue from there (after a restore of etcd, for example) will refuse it again.
    const listAgain = error instanceof ReadError && error.code !== 'Unreachable';
    return { kind: 'broken', from, error, listAgain };
  } finally {
    attempt.abort();
  }
}

function watchPath({ path, from, lifetimeMilliseconds }: WatchOnceOptions): string {
  const query = new URLSearchParams({
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: from,
    timeoutSeconds: String(Math.ceil(lifetimeMilliseconds / 1000)),
  });
  return `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

const unknownReason = 'without a reason';
/** `metav1.Status`: after the response has begun, a watch can only report a failure as an event. */
const failureStatus = v.fallback(
  v.object({ code: v.optional(v.number()), message: v.optional(v.string(), unknownReason) }),
  { message: unknownReason },
);

/** k8s.io/apimachinery pkg/watch/watch.go. */
const watchEvent = v.object({
  type: v.picklist(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: v.unknown(),
});

type WatchEvent = v.InferOutput<typeof watchEvent>;

/** Longer than any object that etcd holds (1.5 MiB by default), with all escapes. */
const maximumLineLength = 16 * 1024 * 1024;

/**
 * The events of a watch, one JSON document per line. A line that the connection broke off within is not an event: the
 * next watch continues from the last complete one.
 *
 * @throws {ReadError} `InvalidDocument` for a line that is not an event; the stream cannot be used after that
 */
async function* watchEvents(chunks: AsyncIterable<string>): AsyncGenerator<WatchEvent> {
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > maximumLineLength) {
      throw new ReadError(
        'InvalidDocument',
        `an event of a watch is longer than ${maximumLineLength} characters`,
      );
    }
    for (const line of lines) if (line.trim() !== '') yield parseEvent(line);
  }
}

function parseEvent(line: string): WatchEvent {
  try {
    return v.parse(watchEvent, JSON.parse(line));
  } catch (cause) {
    throw new ReadError('InvalidDocument', 'a line of a watch is not an event', { cause });
  }
}

/**
 * Passes chunks on. Ends when nothing has arrived for too long, or when `signal` aborts: a connection to a peer that is
 * gone can stay open and silent for ever.
 */
async function* untilSilent(
  chunks: AsyncIterable<string>,
  silenceMilliseconds: number,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const iterator = chunks[Symbol.asyncIterator]();
  while (!signal.aborted) {
    const result = await waitAtMost(iterator.next(), silenceMilliseconds, clock, signal);
    if (signal.aborted || result === 'timed-out' || result.done === true) return;
    yield result.value;
  }
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

/** @returns `undefined` if the object has none */
function resourceVersionOf(object: unknown): string | undefined {
  const parsed = v.safeParse(objectWithVersion, object);
  return parsed.success ? parsed.output.metadata.resourceVersion : undefined;
}
