import { createLimiter, waitAtMost } from '../../runtime/time.ts';
import { placeOfServer } from '../documents/endpoints.ts';
import { isAwaited, type ReadableServer, type ReaderRecord } from './reader-record.ts';
import { ServerReader, type ServerReadersOptions } from './server-reader.ts';

/** Milliseconds between two questions whether a server that was away is ready. */
const readinessInterval = 100;

/** Reads servers, round after round. A slow or failing server does not delay the others. */
export class ServerReaders {
  readonly #options: ServerReadersOptions;
  readonly #limit: ReturnType<typeof createLimiter>;
  #readers: ReadonlyMap<string, ServerReader> = new Map();
  /** True if a server that was away has said something since the last round. */
  #hasNews = false;
  /** Rounds that have ended before their reads. */
  #roundsAhead = 0;
  #news = Promise.withResolvers<void>();

  constructor(options: ServerReadersOptions) {
    this.#options = options;
    this.#limit = createLimiter(options.timing.concurrentServers);
  }

  /** Makes these the servers to read. A server that stays keeps its record. */
  follow(servers: readonly ReadableServer[]): void {
    const before = this.#readers;
    const records = [...this.records().values()];
    const options = { ...this.#options, limit: this.#limit, onNews: () => this.#tell() };
    this.#readers = new Map(
      servers.map((server) => {
        const known = before.get(server.id);
        known?.follow(server);
        return [server.id, known ?? new ServerReader(server, predecessorOf(server, records), options)];
      }),
    );
    for (const [id, reader] of before) if (!this.#readers.has(id)) reader.drop();
  }

  /** Records of the servers as of now, by ID. */
  records(): ReadonlyMap<string, ReaderRecord> {
    return new Map([...this.#readers].map(([id, { record }]) => [id, record]));
  }

  /**
   * Starts a read of every server that is due, and waits for these. A read that takes longer counts in a later round,
   * which does not wait for it again. Until then the server's last reading counts. A server that was away is waited for
   * by `untilNews`.
   *
   * @param longestWait milliseconds; `undefined`: for every read, up to the read time-out; 0: reads nothing
   * @returns what is known of each server at the end of the round, by ID
   */
  async round(
    signal: AbortSignal,
    longestWait: number | undefined,
  ): Promise<ReadonlyMap<string, ReaderRecord>> {
    const all = longestWait === 0 ? [] : [...this.#readers.values()];
    const due = all.filter((reader) => reader.isDue());
    this.#hasNews = false;
    for (const reader of due) void reader.begin(signal);
    if (longestWait === undefined) await Promise.all(all.map(({ underWay }) => underWay));
    else if (due.length > 0) await this.#untilRead(due, longestWait, signal);
    this.#hasNews = false;
    return this.records();
  }

  async #untilRead(due: readonly ServerReader[], longestWait: number, signal: AbortSignal): Promise<void> {
    const awaited = due.filter((reader) => !this.#isAwaited(reader));
    const reads = Promise.all(awaited.map(({ underWay }) => underWay));
    const waiting = new AbortController();
    const all = reads.then(() => 'all');
    const first = due.every(({ record }) => record.reading !== undefined)
      ? Promise.race([all, this.untilNews(waiting.signal, signal).then(() => 'news')])
      : all;
    const ended = await waitAtMost(first, longestWait, this.#options.clock, signal);
    waiting.abort();
    if (ended !== 'news') return;
    // A server that is back does not wait for slow ones: their reads are news of their own then.
    this.#roundsAhead += 1;
    void reads.then(() => {
      this.#roundsAhead -= 1;
      this.#tell();
    });
  }

  /**
   * Asks servers that were away until one of them has been read, or has begun to say what it will serve, or until `rest`
   * aborts.
   *
   * @param end cancels what has been begun
   */
  async untilNews(rest: AbortSignal, end: AbortSignal): Promise<void> {
    while (!this.#hasNews && !rest.aborted) {
      this.#news = Promise.withResolvers<void>();
      await Promise.race([this.#news.promise, this.#options.clock.sleep(readinessInterval, rest)]);
      if (this.#hasNews || rest.aborted) return;
      for (const reader of this.#readers.values()) {
        if (this.#isAwaited(reader) && reader.isDue()) void reader.begin(end);
      }
    }
  }

  /** True: a server was away and has not been read since, or has been since the last round, or a read is late. */
  expectsNews(): boolean {
    return (
      this.#hasNews ||
      this.#roundsAhead > 0 ||
      [...this.#readers.values()].some((reader) => this.#isAwaited(reader))
    );
  }

  /** Somebody knows of a process at a server's address that may not be the one that the open connections lead to. */
  renewConnections(id: string): void {
    this.#readers.get(id)?.renewConnections();
  }

  #isAwaited({ record }: ServerReader): boolean {
    return isAwaited(record, this.#options.clock.monotonic());
  }

  #tell(): void {
    this.#hasNews = true;
    this.#news.resolve();
  }
}

/** When the process at its address was asked last is known, whatever its ID was. */
function predecessorOf(server: ReadableServer, records: readonly ReaderRecord[]): ReaderRecord | undefined {
  const place = placeOfServer(server);
  return place === undefined ? undefined : records.find((record) => placeOfServer(record.server) === place);
}
