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
  /** It is being read for the first time. */
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

/** What was made of documents, each of which is read once for as long as it stays the same. */
export function createDocumentCache<Value>(options: DocumentCacheOptions) {
  const { clock, timeout, remembered = 4_000 } = options;
  /** In the order of their last use. */
  const entries = new Map<string, Entry<Value>>();
  const limit = createLimiter(options.concurrentDocuments);
  let dropped = new AbortController();
  const firstReads = new Set<Promise<void>>();
  const timedOut = () => new ReadError('Unreachable', `not all documents were read within ${timeout} ms`);

  function cancel(): void {
    dropped.abort();
    dropped = new AbortController();
  }

  function used(key: string): Entry<Value> {
    const entry = entries.get(key) ?? {
      known: undefined,
      token: undefined,
      issue: undefined,
      failures: 0,
      underWay: undefined,
      dueAt: -Infinity,
    };
    entries.delete(key);
    entries.set(key, entry);
    for (const oldest of entries.keys()) {
      if (entries.size <= remembered) break;
      entries.delete(oldest);
    }
    return entry;
  }

  function isDue({ key, token }: WantedDocument<Value>): boolean {
    const entry = used(key);
    if (entry.underWay !== undefined) return false;
    return clock.monotonic() >= entry.dueAt || (entry.failures === 0 && entry.token !== token);
  }

  /** Never rejects. @param endsAt by the monotonic clock */
  async function readOne(
    document: WantedDocument<Value>,
    endsAt: number,
    signal: AbortSignal,
  ): Promise<void> {
    const entry = used(document.key);
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

  function state(key: string): DocumentState<Value> {
    const { known, issue, underWay } = entries.get(key) ?? {};
    if (known !== undefined) return { kind: 'known', value: known.value };
    if (issue !== undefined) return { kind: 'failed', reason: issue };
    return { kind: underWay === undefined ? 'waiting' : 'pending' };
  }

  return {
    remember(key: string, value: Value, token?: string): void {
      Object.assign(used(key), { known: { value }, token, dueAt: Number.POSITIVE_INFINITY });
    },
    /** Reads those that are due. Resolves when all that were begun have ended; never rejects. */
    async read(documents: readonly WantedDocument<Value>[], signal: AbortSignal): Promise<void> {
      const due = documents.slice(0, remembered).filter(isDue);
      // One that was cancelled must not stand in the way of the one that follows.
      if (due.length === 0 || signal.aborted) return;
      const either = AbortSignal.any([signal, dropped.signal]);
      const endsAt = clock.monotonic() + timeout;
      const reads = due.map((document) => {
        const isFirst = state(document.key).kind === 'waiting';
        used(document.key).underWay = either;
        const read = limit(() => readOne(document, endsAt, either)).finally(() => firstReads.delete(read));
        if (isFirst) firstReads.add(read);
        return read;
      });
      await Promise.all(reads);
    },
    state,
    isCurrent: ({ key, token }: WantedDocument<Value>): boolean =>
      state(key).kind === 'known' && entries.get(key)?.token === token,
    /** Resolves when the first reads that are under way have ended. */
    settled: (): Promise<unknown> => Promise.all(firstReads),
    keep(keys: ReadonlySet<string>): void {
      for (const key of entries.keys()) if (!keys.has(key)) entries.delete(key);
    },
    /** Each stays known only until it has been read again. Reads that are under way may be of what was before: they end. */
    outdate(): void {
      cancel();
      for (const entry of entries.values()) {
        Object.assign(entry, { token: undefined, failures: 0, underWay: undefined, dueAt: -Infinity });
      }
    },
    clear(): void {
      cancel();
      entries.clear();
    },
  };
}
