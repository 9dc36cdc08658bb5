import * as v from 'valibot';
import { errorMessage } from '../../runtime/errors.ts';
import { isSameJson } from '../../runtime/same-json.ts';
import { backOffDelay, type Clock, waitAtMost } from '../../runtime/time.ts';
import {
  listObjects,
  ReadError,
  type WatchConnection,
  withoutQuery,
  withReadTimeout,
} from '../documents/server-documents.ts';
import type { SyncTiming } from '../documents/timing.ts';

interface ReflectorOptions<Item> {
  /** Path of the collection; may have a query. */
  readonly path: string;
  /** The part that is kept of an object. Throws {ReadError} for an object of another kind. */
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

/** Until a kind that is not served is listed again, milliseconds. */
const unservedDelay = 60_000;
/** How long a server may take to end a watch after its lifetime, milliseconds. */
const lifetimeGrace = 10_000;
/** Longer than any object that etcd holds (1.5 MiB by default), with all escapes. */
const maximumLineLength = 16 * 1024 * 1024;

/** Everything must be listed again: the changes are compacted (410), or the kind is gone (404). */
class Expired extends Error {}

/** Lists and watches the objects of one kind, as client-go's reflector does. */
export class Reflector<Item> {
  /** Resolves when the first attempt to list them has ended. */
  readonly attempted: Promise<void>;
  readonly #options: ReflectorOptions<Item>;
  readonly #attempted = Promise.withResolvers<void>();
  #items: Map<string, Item> | undefined;
  #failure: string | undefined;
  /** Attempts in a row that were of no use. */
  #failures = 0;
  /**
   * The age limit of a list: at first whatever the server's watch cache has, later what was seen. `undefined`: only
   * the newest is good enough, after a 410 or an answer that is of no use (as in client-go's reflector, relistResourceVersion).
   */
  #known: string | undefined = '0';

  constructor(options: ReflectorOptions<Item>) {
    this.#options = options;
    this.attempted = this.#attempted.promise;
  }

  /** Lists and watches until `signal` aborts. Never rejects. Once only. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const version = await this.#list(signal);
        this.#succeeded();
        this.#attempted.resolve();
        if (version === undefined) await this.#options.clock.sleep(unservedDelay, signal);
        else await this.#follow(version, signal);
      } catch (error) {
        if (!signal.aborted) this.#failed(error);
        if (error instanceof ReadError && error.code !== 'Unreachable') this.#known = undefined;
        this.#attempted.resolve();
      }
      await this.#pause(signal);
    }
    this.#attempted.resolve();
  }

  /**
   * @returns as last known; `undefined` until the first list, so where the kind is not served. They stay while they cannot
   *   be read.
   */
  items(): readonly Item[] | undefined {
    return this.#items && [...this.#items.values()];
  }

  /** @returns the first reason why they are not up to date; `undefined` if they are */
  failure(): string | undefined {
    return this.#failure;
  }

  /** @returns the version to watch from; `undefined`: the kind is not served */
  async #list(signal: AbortSignal): Promise<string | undefined> {
    const { connection, path, timing, project } = this.#options;
    const found = await withReadTimeout(timing.listTimeout, signal, (deadline) =>
      listObjects(connection, path, deadline, this.#known),
    );
    if (found === undefined) return undefined;
    this.#known = found.resourceVersion || '0';
    this.#keep(new Map(found.items.map((object) => [objectKey(object), project(object)])));
    return found.resourceVersion || undefined;
  }

  /** Watches from `version` on, over one connection after the other, until something may be missing. */
  async #follow(version: string, signal: AbortSignal): Promise<void> {
    const { clock, timing } = this.#options;
    let from = version;
    while (!signal.aborted) {
      const openedAt = clock.monotonic();
      const lifetime = timing.watchLifetime * (0.9 + 0.2 * clock.random());
      const openedFrom = from;
      try {
        for await (const event of this.#watch(from, lifetime, signal)) {
          this.#take(event);
          from = resourceVersionOf(event.object) ?? from;
          this.#known = from;
        }
        // A server that ends each watch at once, without an event, must not be asked without end.
        const wasUseful = from !== openedFrom || clock.monotonic() - openedAt >= this.#silence();
        this.#failures = wasUseful ? 0 : this.#failures + 1;
      } catch (error) {
        if (signal.aborted) return;
        if (from !== openedFrom) this.#failures = 0;
        if (error instanceof Expired) {
          this.#known = undefined;
          // A first time is normal. A server that returns it for each watch must not be listed without end.
          if (from === openedFrom) this.#failures++;
          return;
        }
        this.#failed(error);
        // A server that refuses to continue from there (after a restore of etcd, for example) will refuse it again.
        if (error instanceof ReadError && error.code !== 'Unreachable') return;
      }
      await this.#pause(signal);
    }
  }

  /**
   * The events of one watch. Ends when the server ends it, or after too long a silence: the next watch shows whether that
   * was an outage.
   *
   * @throws {Expired | ReadError}
   */
  async *#watch(from: string, lifetime: number, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const { connection, path, clock } = this.#options;
    const attempt = new AbortController();
    const silence = this.#silence();
    const either = AbortSignal.any([signal, attempt.signal]);
    void clock.sleep(lifetime + lifetimeGrace, either).then(() => attempt.abort());
    try {
      const opening = connection.watch(watchPath(path, from, lifetime), either);
      const response = await waitAtMost(opening, silence, clock, either);
      if (response === 'timed-out') {
        throw new ReadError('Unreachable', `no response to ${this.#subject()} within ${silence} ms`);
      }
      const { status, chunks } = response;
      // 404: a new list shows whether the kind is not served at all, or only not by this server.
      if (status === 410 || status === 404) throw new Expired();
      if (status !== 200) throw new ReadError('UnexpectedStatus', `${this.#subject()} returned ${status}`);
      this.#succeeded();
      yield* this.#events(chunks, either);
    } finally {
      attempt.abort();
    }
  }

  /** One event a line. A line that the connection broke off within is no event: the next watch continues from the last one. */
  async *#events(chunks: AsyncIterable<string>, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const received = chunks[Symbol.asyncIterator]();
    let rest = '';
    while (!signal.aborted) {
      // A connection to a peer that is gone can stay open and silent for ever.
      const result = await waitAtMost(received.next(), this.#silence(), this.#options.clock, signal);
      if (signal.aborted || result === 'timed-out' || result.done === true) return;
      const lines = (rest + result.value).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > maximumLineLength) {
        const longest = `${maximumLineLength} characters`;
        throw new ReadError('InvalidDocument', `an event of a watch is longer than ${longest}`);
      }
      for (const line of lines) if (line.trim() !== '') yield parseEvent(line, this.#subject());
    }
  }

  #take({ type, object }: WatchEvent): void {
    if (type === 'BOOKMARK') return;
    const key = objectKey(object);
    const before = this.#items?.get(key);
    const item = type === 'DELETED' ? undefined : this.#options.project(object);
    if (item === undefined) this.#items?.delete(key);
    else this.#items?.set(key, item);
    if (this.#isOther(before, item)) this.#options.onChange();
  }

  #keep(items: Map<string, Item>): void {
    const before = this.#items;
    this.#items = items;
    const isSame =
      before?.size === items.size && [...items].every(([key, item]) => !this.#isOther(before.get(key), item));
    if (!isSame) this.#options.onChange();
  }

  #isOther(before: Item | undefined, after: Item | undefined): boolean {
    const { reported = (item: Item): unknown => item } = this.#options;
    if (before === undefined || after === undefined) return before !== after;
    return !isSameJson(reported(before), reported(after));
  }

  #succeeded(): void {
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#options.onChange();
  }

  #failed(error: unknown): void {
    this.#failures++;
    // The first reason stays: a new one at each attempt would fill the log.
    if (this.#failure !== undefined) return;
    this.#failure = errorMessage(error);
    this.#options.onChange();
  }

  /** @returns milliseconds after which a watch that is silent is opened again */
  #silence(): number {
    const { timing, silenceWithItems = timing.silence } = this.#options;
    return this.#items?.size ? silenceWithItems : timing.silence;
  }

  #subject(): string {
    return `a watch of ${withoutQuery(this.#options.path)}`;
  }

  #pause(signal: AbortSignal): Promise<void> {
    const { clock, timing } = this.#options;
    const failures = Math.max(this.#failures, 1);
    return clock.sleep(backOffDelay(timing.watchBackOff, failures, clock.random()), signal);
  }
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
