import { type BackOff, backOffDelay, type Clock } from '../../runtime/clock.ts';
import { createLimiter } from '../../runtime/limiter.ts';
import type { Snapshot } from '../../snapshot/format/types.ts';
import type { SyncObserver } from '../delivery/observer.ts';
import type { ServerDocuments } from '../documents/server-documents.ts';
import { readServer } from './read-server.ts';
import type { ServerReading } from './server-reading.ts';
import { lastKnown } from './server-reading.ts';
import { createStorageVersionHashReader, type StorageVersionHashReader } from './storage-version-hashes.ts';
import { groupVersionsOf } from './unlisted-group-versions.ts';

export interface ReadableServer {
  readonly id: string;
  readonly documents: ServerDocuments;
  /** Names the process that serves under the ID, where that is known: another one is read at once. */
  readonly incarnation?: string | undefined;
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
  readonly observer?: Pick<SyncObserver, 'serverRead'> | undefined;
  /** What an earlier run knew: documents that say the same as then are not read again. */
  readonly previous?: Snapshot | undefined;
  /** Documents read in one reading for what versions a server stores at. Default: no limit. */
  readonly maximumHashDocuments?: number | undefined;
}

/** Reads servers round after round; a slow or failing one costs the others nothing. */
export interface ServerReaders {
  /**
   * Makes these the servers to read. What is known of one that stays is kept. A server that answers elsewhere
   * now, or is another process, is due at once, and a read of the earlier one that is still under way is dropped:
   * it would tell what was.
   */
  follow(servers: readonly ReadableServer[]): void;
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
  /** The latest reading of a server; `undefined` while it has none. */
  reading(id: string): ServerReading | undefined;
  /** Whether a server is slow just now: its read did not end with the last round. */
  isUnderWay(id: string): boolean;
}

interface ReaderState {
  server: ReadableServer;
  underWay: Promise<void> | undefined;
  /** Drops the read that is under way. */
  drop: AbortController;
  failures: number;
  /** What this process had in its last good reading. */
  knownGroupVersions: readonly string[];
  readonly hashReader: StorageVersionHashReader;
  /** By the monotonic clock: a clock set back must not keep a server unread for as long. */
  dueAt: number;
}

export function createServerReaders(
  servers: readonly ReadableServer[],
  options: ServerReadersOptions,
): ServerReaders {
  const { clock, backOff } = options;
  const limit = createLimiter(options.concurrentServers);
  const latest = new Map<string, ServerReading>();
  const states = new Map(servers.map((server) => [server.id, newState(server)]));

  function newState(server: ReadableServer): ReaderState {
    const before = lastKnown(options.previous, server.id);
    return {
      server,
      underWay: undefined,
      drop: new AbortController(),
      failures: 0,
      knownGroupVersions: [],
      hashReader: createStorageVersionHashReader({
        clock,
        previous: before && { set: before.set, version: before.server.version },
        maximumDocuments: options.maximumHashDocuments,
      }),
      dueAt: -Infinity,
    };
  }

  async function read(state: ReaderState, end: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([end, state.drop.signal]);
    const [reading, seconds] = await limit(async () => {
      const begun = clock.monotonic();
      const result = await readServer(state.server.documents, {
        signal,
        timeoutMilliseconds: options.readTimeoutMilliseconds,
        concurrentDocuments: options.concurrentDocuments,
        knownGroupVersions: state.knownGroupVersions,
        hashReader: state.hashReader,
      });
      return [result, (clock.monotonic() - begun) / 1000] as const;
    });
    // What was cut short says nothing about the server.
    if (signal.aborted) return;
    options.observer?.serverRead({ seconds, result: reading.ok ? 'success' : 'failure' });
    latest.set(state.server.id, reading);
    if (reading.ok) state.knownGroupVersions = groupVersionsOf(reading.set);
    // A server that was away may have come back as another process.
    else state.hashReader.outdate();
    state.failures = reading.ok ? 0 : state.failures + 1;
    const wait = reading.ok ? 0 : backOffDelay(backOff, state.failures, clock.random());
    state.dueAt = clock.monotonic() + wait;
  }

  return {
    follow(servers) {
      const ids = new Set(servers.map(({ id }) => id));
      for (const [id, state] of states) {
        if (ids.has(id)) continue;
        state.drop.abort();
        states.delete(id);
        latest.delete(id);
      }
      for (const server of servers) {
        const state = states.get(server.id);
        if (state === undefined) states.set(server.id, newState(server));
        else if (isOther(state.server, server)) {
          state.drop.abort();
          // What it stored at before stays known until the new process has told its own.
          const { hashReader } = state;
          hashReader.outdate();
          Object.assign(state, newState(server), { hashReader });
        } else state.server = server;
      }
    },
    async round(signal, patienceMilliseconds) {
      const now = clock.monotonic();
      const all = [...states.values()];
      const due = all.filter(({ underWay, dueAt }) => underWay === undefined && now >= dueAt);
      for (const state of due) {
        const reading: Promise<void> = read(state, signal).finally(() => {
          if (state.underWay === reading) state.underWay = undefined;
        });
        state.underWay = reading;
      }
      if (patienceMilliseconds === undefined) {
        await Promise.all(all.map(({ underWay }) => underWay));
      } else {
        const enough = new AbortController();
        const waited = clock.sleep(patienceMilliseconds, AbortSignal.any([signal, enough.signal]));
        await Promise.race([Promise.all(due.map(({ underWay }) => underWay)), waited]);
        enough.abort();
      }
      return new Map(latest);
    },
    reading: (id) => latest.get(id),
    isUnderWay: (id) => states.get(id)?.underWay !== undefined,
  };
}

function isOther(before: ReadableServer, after: ReadableServer): boolean {
  if (before.documents !== after.documents) return true;
  // That a Lease came or went tells of no restart.
  const { incarnation } = before;
  return incarnation !== undefined && after.incarnation !== undefined && incarnation !== after.incarnation;
}
