import { type BackOff, backOffDelay, type Clock } from './clock.ts';
import type { ServerDocuments } from './document-reader.ts';
import { createLimiter } from './limiter.ts';
import { readServer } from './read-server.ts';
import type { ServerReading } from './server-reading.ts';

export interface ReadableServer {
  readonly id: string;
  readonly documents: ServerDocuments;
}

export interface ServerReadersOptions {
  readonly clock: Clock;
  /** Whole read of one server, milliseconds. */
  readonly readTimeoutMilliseconds: number;
  /** Servers read at once. */
  readonly concurrentServers: number;
  /** Documents read at once from one server (classic discovery has one for each group version). */
  readonly concurrentDocuments: number;
  /** How long a server that could not be read is left alone. */
  readonly backOff: BackOff;
}

/** Reads servers round after round; a slow or failing one costs the others nothing. */
export interface ServerReaders {
  /**
   * Starts a read of every server that is due, and waits for these until `patience` is over. A read that is
   * still under way then counts in a later round, which does not wait for it again; until then the server's
   * last reading stands.
   *
   * @param patienceMilliseconds `undefined` waits for every read, no longer than the read time-out
   * @returns the latest reading of each server that has one
   */
  round(
    signal: AbortSignal,
    patienceMilliseconds: number | undefined,
  ): Promise<ReadonlyMap<string, ServerReading>>;
  /** Whether a server is slow just now: its read did not end with the last round. */
  isUnderWay(id: string): boolean;
}

interface ReaderState {
  readonly server: ReadableServer;
  underWay: Promise<void> | undefined;
  failures: number;
  /** Milliseconds since the epoch. */
  dueAt: number;
}

export function createServerReaders(
  servers: readonly ReadableServer[],
  options: ServerReadersOptions,
): ServerReaders {
  const { clock, backOff } = options;
  const limit = createLimiter(options.concurrentServers);
  const latest = new Map<string, ServerReading>();
  const states = servers.map(
    (server): ReaderState => ({ server, underWay: undefined, failures: 0, dueAt: 0 }),
  );

  async function read(state: ReaderState, signal: AbortSignal): Promise<void> {
    const reading = await limit(() =>
      readServer(state.server.documents, {
        signal,
        timeoutMilliseconds: options.readTimeoutMilliseconds,
        concurrentDocuments: options.concurrentDocuments,
      }),
    );
    // What was cut short by the end of the sync job says nothing about the server.
    if (signal.aborted) return;
    latest.set(state.server.id, reading);
    state.failures = reading.ok ? 0 : state.failures + 1;
    const wait = reading.ok ? 0 : backOffDelay(backOff, state.failures, clock.random());
    state.dueAt = clock.now() + wait;
  }

  return {
    async round(signal, patienceMilliseconds) {
      const now = clock.now();
      const due = states.filter(({ underWay, dueAt }) => underWay === undefined && now >= dueAt);
      for (const state of due) {
        state.underWay = read(state, signal).finally(() => {
          state.underWay = undefined;
        });
      }
      if (patienceMilliseconds === undefined) {
        await Promise.all(states.map(({ underWay }) => underWay));
      } else {
        const enough = new AbortController();
        const waited = clock.sleep(patienceMilliseconds, AbortSignal.any([signal, enough.signal]));
        await Promise.race([Promise.all(due.map(({ underWay }) => underWay)), waited]);
        enough.abort();
      }
      return new Map(latest);
    },
    isUnderWay: (id) => states.some(({ server, underWay }) => server.id === id && underWay !== undefined),
  };
}
