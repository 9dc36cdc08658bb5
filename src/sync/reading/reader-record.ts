import { startDuration } from '../../servers/server-states.ts';
import type {
  FailedReading,
  ReaderStateName,
  SeenStart,
  ServerReading,
  SuccessfulReading,
  SyncServer,
} from '../documents/sync-server.ts';
import type { FoundServer } from './cluster-state.ts';

/** A server as the cluster's objects name it, and how it is read. */
export type ReadableServer = FoundServer & Pick<SyncServer, 'documents'>;

/**
 * - `untried`: no reading of it has ended.
 * - `ready`: its last reading is of the process that runs it now.
 * - `restarting`: it could not be read, or said that it is not ready. It is asked every 100 ms whether it is.
 * - `unverified`: another process runs it than the one that was read. It is asked alike.
 */
type ReaderState =
  | { readonly kind: 'untried' | 'ready' }
  | { readonly kind: 'restarting' | 'unverified'; readonly since: number };

/**
 * Everything that the reader of a cluster knows of one API server. Immutable; instants are milliseconds of a clock that only
 * rises, so that a clock that is set back delays no read. The router's own record of a server
 * (src/servers/server-record.ts) says whether requests may go there; this one says what the server serves, and since when.
 */
export interface ReaderRecord {
  readonly server: ReadableServer;
  readonly state: ReaderState;
  /** The server's last word, or why that is not known. For a `restarting` server: the reason. */
  readonly reading: ServerReading | undefined;
  /** When it was asked for the last time and no later process was ready. */
  readonly notReadyAt: number | undefined;
  /** Its last start, as far as it was seen. */
  readonly start: SeenStart | undefined;
  /** The last process of it that was seen, by the holder of its Lease. */
  readonly holder: string | undefined;
  /** Processes that were seen since its last reading. Before the first one there may have been any. */
  readonly unreadProcesses: number;
  /** The server that was at its address before, under another ID; `undefined` once this one has been read. */
  readonly predecessor: ReaderRecord | undefined;
  /** The server's word while it is not ready; a new object for each reading, empty until that has ended. */
  readonly early: EarlyReading | undefined;
  readonly failures: number;
  readonly dueAt: number;
}

export interface EarlyReading {
  readonly reading?: SuccessfulReading;
}

export type ReaderEvent =
  /** The cluster's objects say something new of it; the process is the same. */
  | { readonly kind: 'described'; readonly server: ReadableServer }
  /** The server has another address, or its Lease another holder. */
  | { readonly kind: 'replaced'; readonly server: ReadableServer }
  /** Its `/readyz` says that it is not ready, or cannot be read. */
  | { readonly kind: 'not ready'; readonly askedAt: number; readonly reading: FailedReading }
  /** Its `/readyz` says that it is ready. */
  | { readonly kind: 'became ready' }
  | { readonly kind: 'reading early'; readonly early: EarlyReading }
  | { readonly kind: 'read early'; readonly reading: SuccessfulReading | undefined }
  /** The server says something else of itself than before: it was restarted, unnoticed. */
  | { readonly kind: 'restarted unnoticed'; readonly reading: SuccessfulReading }
  | { readonly kind: 'read'; readonly askedAt: number; readonly reading: SuccessfulReading }
  | { readonly kind: 'not read'; readonly reading: FailedReading; readonly dueAt: number };

/** @param before the server that was at its address, under another ID */
export function untriedRecord(server: ReadableServer, before: ReaderRecord | undefined): ReaderRecord {
  return {
    server,
    state: { kind: 'untried' },
    reading: undefined,
    notReadyAt: undefined,
    start: undefined,
    holder: server.holderIdentity ?? before?.holder,
    unreadProcesses: before === undefined ? Number.POSITIVE_INFINITY : before.unreadProcesses + 1,
    predecessor: before && { ...before, predecessor: undefined },
    early: undefined,
    failures: 0,
    dueAt: Number.NEGATIVE_INFINITY,
  };
}

/**
 * A server that is not ready is waited for as long as one that starts. After that it is read whatever its `/readyz` says, and
 * what is known of it is believed all the same: nobody is left out for good.
 *
 * @returns milliseconds of the monotonic clock: its state lasts until then, by itself
 */
export function endsAt({ state }: Pick<ReaderRecord, 'state'>): number {
  return 'since' in state ? state.since + startDuration : Number.POSITIVE_INFINITY;
}

/** True: it was away, or another process runs it, and nothing is believed of it until that one is ready. */
export function isAwaited(record: ReaderRecord, now: number): boolean {
  return isAway(record) && now < endsAt(record);
}

/** True: another process runs it than the one whose reading counts. */
export function isUnverified({ state }: Partial<Pick<ReaderRecord, 'state'>>, now: number): boolean {
  return state?.kind === 'unverified' && now < endsAt({ state });
}

/** True: no reading is of the process that runs it now, however long it is waited for. */
export function isAway({ state }: ReaderRecord): boolean {
  return 'since' in state;
}

/** @returns the word for it in status and metrics */
export function stateOf(record: ReaderRecord, now: number): ReaderStateName {
  const { server, state, reading } = record;
  if (server.departedAt !== undefined && state.kind !== 'ready') return 'departed';
  if (!isAway(record) || isAwaited(record, now)) return state.kind;
  return reading?.ok === false && reading.code === 'NothingServed' ? 'unready' : 'unreachable';
}

/** The one place in which what is known of a server changes. Pure. @param now by the monotonic clock */
export function next(record: ReaderRecord, event: ReaderEvent, now: number): ReaderRecord {
  switch (event.kind) {
    case 'described':
      return describedBy(event.server, record);
    case 'replaced': {
      // When the process of before was asked last is known all the same, and its reading counts until there is another one, with
      // its start: the Lease of a process may come later than what the process says.
      const { notReadyAt, reading, start } = record;
      const { holder, unreadProcesses } = describedBy(event.server, record);
      const state = reading && ({ kind: 'unverified', since: now } as const);
      return {
        ...untriedRecord(event.server, undefined),
        notReadyAt,
        reading,
        start,
        holder,
        unreadProcesses,
        ...(state && { state }),
      };
    }
    case 'not ready': {
      // Whoever could not be asked may have been started again.
      const away = { ...record, state: awaySince(record, now), start: undefined, reading: event.reading };
      return event.reading.code === 'NothingServed' ? { ...away, notReadyAt: event.askedAt } : away;
    }
    case 'became ready': {
      const { state, start, notReadyAt, unreadProcesses } = record;
      if (!('since' in state) || (start !== undefined && start.readyAt >= state.since)) return record;
      const isAfterUnread = unreadProcesses > 1 && { isAfterUnread: true };
      return { ...record, start: { notReadyAt, readyAt: now, ...isAfterUnread } };
    }
    case 'reading early':
      return { ...record, early: event.early };
    case 'read early':
      return { ...record, early: event.reading && { reading: event.reading } };
    case 'restarted unnoticed':
      return {
        ...record,
        state: { kind: 'restarting', since: now },
        start: undefined,
        early: { reading: event.reading },
      };
    case 'read':
      return afterReading(record, event.reading, event.askedAt, now);
    case 'not read':
      return {
        ...record,
        state: awaySince(record, now),
        start: undefined,
        reading: event.reading,
        failures: record.failures + 1,
        dueAt: event.dueAt,
      };
  }
}

function describedBy(server: ReadableServer, record: ReaderRecord): ReaderRecord {
  const { holderIdentity: holder = record.holder } = server;
  const isNew = holder !== record.holder && record.holder !== undefined;
  return { ...record, server, holder, unreadProcesses: record.unreadProcesses + (isNew ? 1 : 0) };
}

function awaySince({ state }: ReaderRecord, now: number): ReaderState {
  return 'since' in state ? state : { kind: 'restarting', since: now };
}

function afterReading(
  record: ReaderRecord,
  reading: SuccessfulReading,
  askedAt: number,
  now: number,
): ReaderRecord {
  const { predecessor, start } = record;
  return {
    ...record,
    state: { kind: 'ready' },
    reading,
    notReadyAt: askedAt,
    start: predecessor === undefined ? start : startAfter(predecessor, reading, now),
    unreadProcesses: 0,
    predecessor: undefined,
    early: undefined,
    failures: 0,
    dueAt: now,
  };
}

/**
 * The start of a server that was read for the first time, as far as it was seen under the ID of before: before 1.28 each start
 * gives a server another ID, and a server without a Lease gets another one with its Lease.
 */
function startAfter(before: ReaderRecord, reading: SuccessfulReading, now: number): SeenStart | undefined {
  const isSameProcess =
    !isAway(before) && before.reading?.ok === true && before.reading.version === reading.version;
  return isSameProcess ? before.start : { notReadyAt: before.notReadyAt, readyAt: now };
}
