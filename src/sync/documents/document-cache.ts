import { BoundedMap } from '../../runtime/bounded-map.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { backOffDelay, type Clock, createLimiter, withDeadline } from '../../runtime/time.ts';
import { ReadError } from './server-documents.ts';

interface WantedDocument<Value> {
  /** Documents with the same key have the same content, while their token stays the same. */
  readonly key: string;
  readonly token?: string;
  /** Until it is read again, milliseconds. Default: never, while its token stays the same. */
  readonly refreshedAfter?: number | undefined;
  /** @param failures so many in a row before: another server may have it, too */
  readonly read: (signal: AbortSignal, failures: number) => Promise<Value>;
}

export type DocumentState<Value> =
  /** As it was read last, though it may be outdated. */
  | { readonly kind: 'known'; readonly value: Value }
  | { readonly kind: 'failed'; readonly reason: string }
  /** The first read is under way. */
  | { readonly kind: 'pending' }
  | { readonly kind: 'waiting' };

interface DocumentCacheOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'random'>;
  /** For all documents of one call together, also those that wait for their turn, milliseconds. */
  readonly timeout: number;
  readonly concurrentDocuments: number;
  /**
   * How many are remembered: those that were used last. Default 4,000: digests of schemas have about 3 KB each, and three
   * versions have 180.
   */
  readonly remembered?: number;
}

interface Entry<Value> {
  known: { readonly value: Value } | undefined;
  token: string | undefined;
  issue: string | undefined;
  failures: number;
  underWay: AbortSignal | undefined;
  /** By the monotonic clock. */
  dueAt: number;
}

/** Until a document that could not be read is read again: at first soon, as a server that has just started may not have it yet. */
const retriedAfter = { initialMilliseconds: 1_000, maximumMilliseconds: 30_000 };

/** Values made of documents, each of which is read once for as long as it stays the same. */
export class DocumentCache<Value> {
  readonly #options: DocumentCacheOptions;
  readonly #limit: ReturnType<typeof createLimiter>;
  readonly #remembered: number;
  /** In the order of their last use. */
  readonly #entries: BoundedMap<string, Entry<Value>>;
  readonly #firstReads = new Set<Promise<void>>();
  /** Ends reads of what is outdated. */
  #dropped = new AbortController();

  constructor(options: DocumentCacheOptions) {
    this.#options = options;
    this.#limit = createLimiter(options.concurrentDocuments);
    this.#remembered = options.remembered ?? 4_000;
    this.#entries = new BoundedMap(this.#remembered);
  }

  remember(key: string, value: Value, token?: string): void {
    Object.assign(this.#used(key), { known: { value }, token, dueAt: Number.POSITIVE_INFINITY });
  }

  /** Reads those that are due. Resolves when all that were begun have ended; never rejects. */
  async read(documents: readonly WantedDocument<Value>[], signal: AbortSignal): Promise<void> {
    const due = documents.slice(0, this.#remembered).filter((document) => this.#isDue(document));
    // One that was cancelled must not stand in the way of the one that follows.
    if (due.length === 0 || signal.aborted) return;
    const either = AbortSignal.any([signal, this.#dropped.signal]);
    const endsAt = this.#options.clock.monotonic() + this.#options.timeout;
    const reads = due.map((document) => {
      const isFirst = this.state(document.key).kind === 'waiting';
      this.#used(document.key).underWay = either;
      const read = this.#limit(() => this.#readOne(document, endsAt, either)).finally(() =>
        this.#firstReads.delete(read),
      );
      if (isFirst) this.#firstReads.add(read);
      return read;
    });
    await Promise.all(reads);
  }

  state(key: string): DocumentState<Value> {
    const { known, issue, underWay } = this.#entries.get(key) ?? {};
    if (known !== undefined) return { kind: 'known', value: known.value };
    if (issue !== undefined) return { kind: 'failed', reason: issue };
    return { kind: underWay === undefined ? 'waiting' : 'pending' };
  }

  isCurrent({ key, token }: WantedDocument<Value>): boolean {
    return this.state(key).kind === 'known' && this.#entries.get(key)?.token === token;
  }

  /** Resolves when the first reads that are under way have ended. */
  settled(): Promise<unknown> {
    return Promise.all(this.#firstReads);
  }

  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#entries.keys()) if (!keys.has(key)) this.#entries.delete(key);
  }

  /** Each stays known only until it has been read again. Reads that are under way may be of what was before: they end. */
  outdate(): void {
    this.#cancel();
    for (const entry of this.#entries.values()) {
      Object.assign(entry, { token: undefined, failures: 0, underWay: undefined, dueAt: -Infinity });
    }
  }

  clear(): void {
    this.#cancel();
    this.#entries.clear();
  }

  #cancel(): void {
    this.#dropped.abort();
    this.#dropped = new AbortController();
  }

  #used(key: string): Entry<Value> {
    const entry = this.#entries.get(key) ?? {
      known: undefined,
      token: undefined,
      issue: undefined,
      failures: 0,
      underWay: undefined,
      dueAt: -Infinity,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #isDue({ key, token }: WantedDocument<Value>): boolean {
    const entry = this.#used(key);
    if (entry.underWay !== undefined) return false;
    return this.#options.clock.monotonic() >= entry.dueAt || (entry.failures === 0 && entry.token !== token);
  }

  /** Never rejects. @param endsAt by the monotonic clock */
  async #readOne(document: WantedDocument<Value>, endsAt: number, signal: AbortSignal): Promise<void> {
    const { clock, timeout } = this.#options;
    const entry = this.#used(document.key);
    const timedOut = () => new ReadError('Unreachable', `not all documents were read within ${timeout} ms`);
    try {
      const left = endsAt - clock.monotonic();
      if (left <= 0) throw timedOut();
      const value = await withDeadline(left, signal, timedOut, (deadline) =>
        document.read(deadline, entry.failures),
      );
      const { token, refreshedAfter = Number.POSITIVE_INFINITY } = document;
      const dueAt = clock.monotonic() + refreshedAfter;
      Object.assign(entry, { known: { value }, token, issue: undefined, failures: 0, dueAt });
    } catch (error) {
      // A read that was cancelled says nothing about the document, one that took too long does.
      if (!signal.aborted || signal.reason instanceof ReadError) {
        entry.issue = errorMessage(error);
        entry.failures++;
        entry.dueAt = clock.monotonic() + backOffDelay(retriedAfter, entry.failures, clock.random());
      }
    }
    if (entry.underWay === signal) entry.underWay = undefined;
  }
}
