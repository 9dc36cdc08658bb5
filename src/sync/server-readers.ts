import { countedVersionOf, mayBeOneVersion } from '../apimachinery/server-version.ts';
import { backOffDelay, type Clock, createLimiter, waitAtMost } from '../runtime/time.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import { versionPartsOf } from './counted-version.ts';
import { placeOfServer } from './endpoints.ts';
import { createFeatureGateReader, type FeatureGateReader } from './feature-gates.ts';
import { readServer } from './read-server.ts';
import { ReadError, unexpectedStatus, withReadTimeout } from './server-documents.ts';
import { createStorageVersionHashReader, type StorageVersionHashReader } from './storage-versions.ts';
import {
  type FailedReading,
  failedReading,
  groupVersionsOf,
  lastKnown,
  type SeenStart,
  type ServerReading,
  type SuccessfulReading,
  type SyncObserver,
  type SyncServer,
} from './sync-server.ts';
import type { SyncTiming } from './timing.ts';

export type ReadableServer = Pick<SyncServer, 'id' | 'address' | 'url' | 'documents' | 'holderIdentity'>;

interface ServerReadersOptions {
  readonly clock: Clock;
  readonly timing: SyncTiming;
  readonly observer?: Pick<SyncObserver, 'serverRead'> | undefined;
  /** The snapshot of an earlier run: what it served, and documents that have not changed since. */
  readonly previous?: Snapshot | undefined;
}

interface ReaderState {
  server: ReadableServer;
  underWay: Promise<void> | undefined;
  drop: AbortController;
  failures: number;
  /** Those of the last successful reading, at first of an earlier run. */
  knownGroupVersions: readonly string[];
  readonly hashReader: StorageVersionHashReader;
  readonly gateReader: FeatureGateReader;
  /** By the monotonic clock, so that a clock that is set back delays no read. */
  dueAt: number;
  /** It was lost, or another process runs it, and it has not been read since. */
  lost: LostServer | undefined;
  /** When it was asked for the last time and no later process was ready, by the monotonic clock. */
  notReadyAt: number | undefined;
  start: SeenStart | undefined;
  /** The server that was at its address before, under another ID; `undefined` once this one has been read. */
  predecessor: Predecessor | undefined;
  /** What it said while it was not ready yet; `undefined` until it has been asked, and once it has been read. */
  early: { reading: SuccessfulReading | undefined } | undefined;
}

interface Predecessor extends Pick<ReaderState, 'lost' | 'notReadyAt' | 'start'> {
  readonly reading: ServerReading | undefined;
}

interface Asked {
  readonly reading: ServerReading;
  /** By the monotonic clock. */
  readonly askedAt: number;
  /** False: it is not ready. */
  readonly isRead: boolean;
}

interface LostServer {
  /** By the monotonic clock. */
  readonly since: number;
  /** Its Lease has another holder than when it was read: what is known of it is said of another process. */
  readonly changedHands: boolean;
}

/** Milliseconds between two questions whether a server that was lost is ready. */
const readinessInterval = 100;
/** For the answer, milliseconds: a server that is starting accepts connections long before it responds on them. */
const readinessTimeout = 1_000;
/**
 * How long such a server is waited for, milliseconds. After that it is read whatever its `/readyz` says, and what is known
 * of it is believed all the same: nobody is left out for good.
 */
const lostFor = 60_000;

/** Reads servers, round after round. A slow or failing server does not delay the others. */
export function createServerReaders(options: ServerReadersOptions) {
  const { clock, timing } = options;
  const limit = createLimiter(timing.concurrentServers);
  const latest = new Map<string, ServerReading>();
  const states = new Map<string, ReaderState>();
  /** Whether a server that was lost has said something since the last round. */
  let hasNews = false;
  /** Rounds that have ended before their reads. */
  let awaited = 0;
  let news = Promise.withResolvers<void>();

  function newState(server: ReadableServer): ReaderState {
    const previous = lastKnown(options.previous, server.id);
    return {
      server,
      underWay: undefined,
      drop: new AbortController(),
      failures: 0,
      knownGroupVersions: groupVersionsOf(previous?.set ?? {}),
      hashReader: createStorageVersionHashReader(clock, previous, timing),
      gateReader: createFeatureGateReader(),
      dueAt: -Infinity,
      lost: undefined,
      notReadyAt: undefined,
      start: undefined,
      predecessor: undefined,
      early: undefined,
    };
  }

  /**
   * Before 1.28 each start gives a server another ID, and a server without a Lease gets another one with its Lease. When the
   * process at its address was asked last is known all the same.
   */
  function predecessorOf(server: ReadableServer): Predecessor | undefined {
    const place = placeOfServer(server);
    const before = [...states.values()].find((state) => placeOfServer(state.server) === place);
    if (place === undefined || before === undefined) return undefined;
    const { lost, notReadyAt, start } = before;
    return { lost, notReadyAt, start, reading: latest.get(before.server.id) };
  }

  /** The start of a server that was read for the first time, as far as it was seen under the ID of before. */
  function startAfter({ lost, notReadyAt, start, reading }: Predecessor, now: SuccessfulReading) {
    const isSameProcess = lost === undefined && reading?.ok === true && reading.version === now.version;
    return isSameProcess ? start : { notReadyAt, readyAt: clock.monotonic() };
  }

  function tell(): void {
    hasNews = true;
    news.resolve();
  }

  const lostNow = (changedHands: boolean): LostServer => ({
    since: clock.monotonic(),
    changedHands,
  });
  const isLost = ({ lost }: ReaderState): boolean =>
    lost !== undefined && clock.monotonic() - lost.since < lostFor;

  /**
   * A server that has just started serves a part of what it will: discovery lacks what its controllers have not put there
   * yet, and `/readyz` says when they have. Before it knows of any role it forbids everything. Where `/readyz` is forbidden
   * for good, nobody is left out for longer than `lostFor`.
   *
   * @returns why it does not count yet; `undefined`: it is ready
   */
  async function unreadiness(
    { documents }: ReadableServer,
    signal: AbortSignal,
  ): Promise<FailedReading | undefined> {
    try {
      const document = await withReadTimeout(readinessTimeout, signal, (deadline) =>
        documents.get('/readyz', '*/*', deadline),
      );
      const { status } = document;
      if (status >= 500) return notReady;
      if (status !== 401 && status !== 403) return undefined;
      return failedReading(new ReadError('UnexpectedStatus', unexpectedStatus('/readyz', document)));
    } catch (error) {
      return failedReading(error);
    }
  }

  function readDocuments(state: ReaderState, signal: AbortSignal): Promise<ServerReading> {
    const { server, knownGroupVersions, hashReader, gateReader } = state;
    return readServer(server.documents, { signal, timing, knownGroupVersions, hashReader, gateReader });
  }

  /**
   * Reads a server that is not ready yet. What it says does not count, but most of it is what it will say: the versions that
   * it stores at are known then, and its schemas are read, which takes seconds of a machine that has just started it.
   */
  async function readEarly(state: ReaderState, signal: AbortSignal): Promise<void> {
    const early: ReaderState['early'] = { reading: undefined };
    state.early = early;
    const reading = await readDocuments(state, signal);
    if (state.early !== early) return;
    if (!reading.ok || signal.aborted) state.early = undefined;
    else {
      early.reading = reading;
      tell();
    }
  }

  /** True if this reading and the last one are of two processes: of other versions, or started otherwise. */
  async function isOfAnotherProcess(id: string, reading: SuccessfulReading): Promise<boolean> {
    const before = latest.get(id);
    if (before?.ok !== true) return false;
    return !mayBeOneVersion(await versionSaid(before), await versionSaid(reading));
  }

  /**
   * Asks what a server serves; first, whether it is ready, of one that was lost, or has not been read yet. Whoever says
   * something else than before has been started in between, unnoticed. All of them count from when they are ready.
   */
  async function ask(state: ReaderState, signal: AbortSignal): Promise<Asked> {
    const { id } = state.server;
    const askedAt = clock.monotonic();
    const isAsked = isLost(state) || !latest.has(id);
    const unready = isAsked ? await unreadiness(state.server, signal) : undefined;
    if (unready === notReady) {
      state.lost ??= lostNow(false);
      Object.assign(state, { start: undefined, notReadyAt: askedAt });
      if (state.early === undefined) void readEarly(state, signal);
    }
    const { lost, notReadyAt } = state;
    if (unready !== undefined && lost !== undefined) return { reading: unready, askedAt, isRead: false };
    if (lost !== undefined) state.start ??= { notReadyAt, readyAt: clock.monotonic() };
    const reading = await readDocuments(state, signal);
    if (lost !== undefined || !reading.ok || !(await isOfAnotherProcess(id, reading)))
      return { reading, askedAt, isRead: true };
    Object.assign(state, { lost: lostNow(false), start: undefined, early: { reading } });
    state.gateReader.outdate();
    return ask(state, signal);
  }

  async function read(state: ReaderState, end: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([end, state.drop.signal]);
    const [{ reading, askedAt, isRead }, seconds] = await limit(async () => {
      const begunAt = clock.monotonic();
      return [await ask(state, signal), (clock.monotonic() - begunAt) / 1000] as const;
    });
    // A cancelled read says nothing about the server.
    if (signal.aborted) return;
    latest.set(state.server.id, reading);
    // It stays lost, and is asked again soon.
    if (!isRead) return;
    options.observer?.serverRead({ seconds, result: reading.ok ? 'success' : 'failure' });
    if (reading.ok) {
      if (state.lost !== undefined) tell();
      const { predecessor } = state;
      if (predecessor !== undefined) {
        Object.assign(state, { predecessor: undefined, start: startAfter(predecessor, reading) });
      }
      const knownGroupVersions = groupVersionsOf(reading.set);
      const dueAt = clock.monotonic();
      Object.assign(state, { lost: undefined, early: undefined, knownGroupVersions, failures: 0, dueAt });
      state.notReadyAt = askedAt;
      return;
    }
    if (state.lost === undefined) Object.assign(state, { lost: lostNow(false), start: undefined });
    // A server may come back as another process.
    state.hashReader.outdate();
    if (state.failures === 0) state.gateReader.outdate();
    state.failures += 1;
    state.dueAt = clock.monotonic() + backOffDelay(timing.readBackOff, state.failures, clock.random());
  }

  function begin(state: ReaderState, signal: AbortSignal): void {
    const reading: Promise<void> = read(state, signal).finally(() => {
      if (state.underWay === reading) state.underWay = undefined;
    });
    state.underWay = reading;
  }

  /**
   * Asks servers that were lost until one of them has been read, or has begun to say what it will serve, or until `rest`
   * aborts; `end` cancels what has been begun.
   */
  async function untilNews(rest: AbortSignal, end: AbortSignal): Promise<void> {
    while (!hasNews && !rest.aborted) {
      news = Promise.withResolvers<void>();
      await Promise.race([news.promise, clock.sleep(readinessInterval, rest)]);
      if (hasNews || rest.aborted) return;
      for (const state of states.values()) {
        if (isLost(state) && state.underWay === undefined && clock.monotonic() >= state.dueAt)
          begin(state, end);
      }
    }
  }

  return {
    /**
     * Makes these the servers to read. A server that stays keeps its reading. A server with another address, or another
     * process, is due at once; a read of its predecessor is cancelled.
     */
    follow(servers: readonly ReadableServer[]): void {
      const ids = new Set(servers.map(({ id }) => id));
      const predecessors = new Map(
        servers.flatMap((server) => (states.has(server.id) ? [] : [[server.id, predecessorOf(server)]])),
      );
      for (const [id, state] of states) {
        if (ids.has(id)) continue;
        state.drop.abort();
        states.delete(id);
        latest.delete(id);
      }
      for (const server of servers) {
        const state = states.get(server.id);
        if (state === undefined) {
          states.set(server.id, { ...newState(server), predecessor: predecessors.get(server.id) });
        } else if (isOther(state.server, server)) {
          state.drop.abort();
          server.documents.renewConnections?.();
          // The versions that it stored at stay known until those of the new process have been read.
          const { hashReader, notReadyAt } = state;
          hashReader.outdate();
          const lost = latest.has(server.id) ? lostNow(true) : undefined;
          Object.assign(state, newState(server), { hashReader, notReadyAt, lost });
        } else state.server = server;
      }
    },
    /**
     * Starts a read of every server that is due, and waits for these. A read that takes longer counts in a later round,
     * which does not wait for it again. Until then the server's last reading counts. A server that was lost is waited for
     * by `untilNews`.
     *
     * @param longestWait milliseconds; `undefined`: for every read, up to the read time-out; 0: reads nothing
     */
    async round(
      signal: AbortSignal,
      longestWait: number | undefined,
    ): Promise<ReadonlyMap<string, ServerReading>> {
      const now = clock.monotonic();
      const all = longestWait === 0 ? [] : [...states.values()];
      const due = all.filter(({ underWay, dueAt }) => underWay === undefined && now >= dueAt);
      hasNews = false;
      for (const state of due) begin(state, signal);
      if (longestWait === undefined) {
        await Promise.all(all.map(({ underWay }) => underWay));
      } else if (due.length > 0) {
        const reads = Promise.all(due.filter((state) => !isLost(state)).map(({ underWay }) => underWay));
        const waiting = new AbortController();
        const all = reads.then(() => 'all');
        const first = due.every(({ server }) => latest.has(server.id))
          ? Promise.race([all, untilNews(waiting.signal, signal).then(() => 'news')])
          : all;
        const ended = await waitAtMost(first, longestWait, clock, signal);
        waiting.abort();
        // A server that is back does not wait for slow ones: their reads are news of their own then.
        if (ended === 'news') {
          awaited += 1;
          void reads.then(() => {
            awaited -= 1;
            tell();
          });
        }
      }
      hasNews = false;
      return new Map(latest);
    },
    untilNews,
    /** Somebody knows of a process that may not be the one that the open connections lead to. */
    renewConnections(): void {
      for (const { server } of states.values()) server.documents.renewConnections?.();
    },
    starts: (): ReadonlyMap<string, SeenStart> =>
      new Map([...states].flatMap(([id, { start }]) => (start === undefined ? [] : [[id, start]]))),
    /** What servers that are not ready yet say that they will serve, by ID. */
    early: (): ReadonlyMap<string, SuccessfulReading> =>
      new Map([...states].flatMap(([id, { early }]) => (early?.reading ? [[id, early.reading]] : []))),
    /** IDs of servers that another process runs than the one that was read last. */
    unread: (): ReadonlySet<string> =>
      new Set(
        [...states.values()]
          .filter((state) => isLost(state) && state.lost?.changedHands === true)
          .map(({ server }) => server.id),
      ),
    /** Whether a server was lost and has not been read since, or has been since the last round, or a read is late. */
    expectsNews: (): boolean => hasNews || awaited > 0 || [...states.values()].some(isLost),
    reading: (id: string) => latest.get(id),
  };
}

const nothingShared: ReadonlySet<string> = new Set();

const versionSaid = async (reading: SuccessfulReading) =>
  countedVersionOf(await versionPartsOf(reading, nothingShared));

const notReady: FailedReading = {
  ok: false,
  code: 'NothingServed',
  reason: 'its /readyz does not say that it is ready: it is still starting',
};

function isOther(before: ReadableServer, after: ReadableServer): boolean {
  if (before.documents !== after.documents) return true;
  // A Lease that appears or disappears is no restart.
  const [holder, next] = [before.holderIdentity, after.holderIdentity];
  return holder !== undefined && next !== undefined && holder !== next;
}
