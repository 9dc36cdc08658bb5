import { monotonicNow } from '../runtime/time.ts';
import type { MissingKnowledge, RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { endsAt, newRecord, next } from './server-record.ts';
import {
  isAwaited,
  isDown,
  isOutdated,
  isUp,
  isVerified,
  type MayBeAsked,
  mayBeAsked,
  missingKnowledge,
} from './server-standing.ts';
import {
  type HealthThresholds,
  lossOf,
  type ProbeOutcome,
  presentOf,
  reasonOf,
  type ServerEvent,
  type ServerRecord,
  type ServerState,
  type StateReason,
} from './server-states.ts';
import { plainView, type ServersView, viewOf } from './servers-view.ts';

export interface ServerBookOptions extends HealthThresholds {
  readonly monotonic?: () => number;
  /** Milliseconds since the epoch, for `look`. Default `Date.now`. */
  readonly wall?: () => number;
}

/**
 * From so many milliseconds between two looks on, this process stood still. Less than other routers wait before they change the
 * version (`versionSettlesFor`).
 */
const standStill = 1_000;

/** The one name of a server's state, in status, `explain`, metrics, page and log. */
export type ServerStatus = ServerState['kind'];

export interface ServerReport {
  readonly id: string;
  readonly status: ServerStatus;
  /** Left out: the name of the state says all. */
  readonly reason: StateReason | undefined;
  readonly isUp: boolean;
  readonly isDown: boolean;
  readonly forMilliseconds: number;
  /** True once a probe has ended. */
  readonly isHeard: boolean;
}

/** A server is up or down from now on, or was untried before. */
export interface HealthChange {
  readonly id: string;
  readonly status: ServerStatus;
  readonly reason: StateReason | undefined;
  readonly isDown: boolean;
  readonly wasDown: boolean;
}

/** Must not throw. */
export interface HealthObserver {
  /** Once for each time that a server goes up or down, never for failures that change nothing. */
  changed?(change: HealthChange): void;
  /**
   * The server is put aside until its `/readyz` says that the server is ready: a connection to the server was refused,
   * or broke.
   */
  lost?(id: string): void;
  /** A request gives reason to look at the server at once: no connection, or no response on one. */
  doubted?(id: string): void;
  /** This process stood still for so many milliseconds: no server is known before it has been probed. */
  stoodStill?(milliseconds: number): void;
}

/** Asked for its signal only by who waits: a request makes the signal when it is first asked for. */
interface Client {
  readonly signal: AbortSignal;
}

interface Waiter {
  readonly isOver: () => boolean;
  readonly end: () => void;
}

/** The records of all API servers: the only place in which they are exchanged for newer ones. */
export class ServerBook {
  readonly #records = new Map<string, ServerRecord>();
  readonly #observers = new Set<HealthObserver>();
  readonly #waiters = new Set<Waiter>();
  /** When the first state ends by itself. */
  #endsAt = Number.POSITIVE_INFINITY;
  #outdated = 0;
  /** The last result of `notKnown`. */
  #notKnown: ReadonlyMap<string, MissingKnowledge> = new Map();
  /** A state has changed since, or a verification. */
  #isChanged = false;
  #isVerificationChanged = false;
  #view = plainView(undefined);
  #viewedBy = this.#notKnown;
  /** The last look, by both clocks; `undefined`: none so far. */
  #lookedAt: number | undefined;
  #lookedAtDate: number | undefined;
  readonly #options: ServerBookOptions;
  readonly #monotonic: () => number;

  constructor(options: ServerBookOptions) {
    this.#options = options;
    this.#monotonic = options.monotonic ?? monotonicNow;
  }

  observe(observer: HealthObserver): () => void {
    this.#observers.add(observer);
    return () => {
      this.#observers.delete(observer);
    };
  }

  get records(): ReadonlyMap<string, ServerRecord> {
    this.#endStates();
    return this.#records;
  }

  /** @param isStored the knowledge of the server is of an earlier run: nothing holds before a probe has verified it */
  follow(id: string, isStored = false, known: Pick<ServerRecord, 'destination' | 'provenAt'> = {}): void {
    this.#exchange(id, undefined, newRecord(id, this.#monotonic(), isStored, known));
  }

  unfollow(id: string): void {
    this.#exchange(id, this.#records.get(id), undefined);
  }

  /**
   * The way of every event into the records.
   * @returns the record afterwards; `undefined` for a server that is not followed
   */
  apply(id: string, event: ServerEvent): ServerRecord | undefined {
    this.#endStates();
    const before = this.#records.get(id);
    if (before === undefined) return undefined;
    const after = next(before, event, this.#monotonic(), this.#options);
    if (after !== before) this.#exchange(id, before, after);
    if (after.state !== before.state && !hasLoss(before) && isLoss(event) && hasLoss(after)) {
      for (const observer of this.#observers) observer.lost?.(id);
    }
    if (givesReasonToAsk(event, before, after))
      for (const observer of this.#observers) observer.doubted?.(id);
    return after;
  }

  /**
   * To be called again and again while the process runs, and before a request is decided: time that has passed in
   * between without a call is time in which this process stood still (a signal, a suspended machine, a starved loop),
   * and what the process knew of servers may be of long ago.
   */
  look(): void {
    const { wall = Date.now } = this.#options;
    const now = this.#monotonic();
    const date = wall();
    // CLOCK_MONOTONIC stands still while the machine is suspended; a wall clock may be set.
    const stood = Math.max(now - (this.#lookedAt ?? now), date - (this.#lookedAtDate ?? date));
    this.#lookedAt = now;
    this.#lookedAtDate = date;
    if (stood < standStill) return;
    for (const observer of this.#observers) observer.stoodStill?.(stood);
    for (const id of this.#records.keys()) this.apply(id, { kind: 'stood still' });
  }

  /** True if a probe of a server has to end before anything is decided by what is known of that server. */
  areToBeTried(): boolean {
    // A timer looks while requests rest; without one nobody could tell rest from a stand-still.
    if (this.#lookedAt !== undefined) this.look();
    return this.#outdated > 0;
  }

  probing(id: string): void {
    this.apply(id, { kind: 'asked' });
  }

  probed(id: string, outcome: ProbeOutcome): void {
    const askedAt = this.#records.get(id)?.askedAt ?? this.#monotonic();
    this.apply(id, { kind: 'answered', askedAt, outcome });
  }

  /**
   * A connection to the server was refused, or broke. The server may have been restarted, and gets no requests before
   * its `/readyz` says that the server is ready. The `/readyz` is asked at once.
   * @param isRefused nothing takes connections at the server's address
   */
  connectionLost(id: string, isRefused = false): void {
    this.apply(id, { kind: 'connection lost', isRefused });
  }

  /**
   * A request got no response on a connection that stood (a stream reset, none in time). That proves no outage: it only makes
   * the next probe come at once.
   */
  notResponded(id: string): void {
    this.apply(id, { kind: 'no response' });
  }

  /** The server hangs: it has responded to nothing. The last server that is left is used all the same. */
  silent(id: string): void {
    const isLast = [...this.#records.values()].every((other) => other.id === id || this.is(other.id, isDown));
    if (!isLast) this.apply(id, { kind: 'silent' });
  }

  /** The server says GOAWAY, as servers do when they end, and now and then otherwise (`--goaway-chance`). */
  goneAway(id: string): void {
    this.apply(id, { kind: 'GOAWAY' });
  }

  mayBeAsked(id: string): MayBeAsked {
    const record = this.#records.get(id);
    // Nearly always: no look at the clock, then.
    if (record === undefined || record.state.kind === 'ready') return 'first';
    return mayBeAsked(this.#now(record));
  }

  whyNot(id: string): MissingKnowledge | undefined {
    const record = this.#records.get(id);
    return record === undefined || record.state.kind === 'ready'
      ? undefined
      : missingKnowledge(this.#now(record));
  }

  /** True if `holds` is true of the server (`server-standing.ts`). False for a server that is not followed. */
  is(
    id: string,
    holds: (record: ServerRecord, now: number, thresholds: HealthThresholds) => boolean,
  ): boolean {
    const record = this.#records.get(id);
    return record !== undefined && holds(this.#now(record), this.#monotonic(), this.#options);
  }

  isUp(id: string): boolean {
    return this.is(id, isUp);
  }

  isDown(id: string): boolean {
    return this.is(id, isDown);
  }

  /** @returns the servers that are not known, with their states; the same map as long as these are the same */
  notKnown(): ReadonlyMap<string, MissingKnowledge> {
    this.#endStates();
    if (this.#isChanged) {
      this.#isChanged = false;
      const found = new Map<string, MissingKnowledge>();
      for (const [id, record] of this.#records) {
        const missing = missingKnowledge(record);
        if (missing !== undefined) found.set(id, missing);
      }
      const before = this.#notKnown;
      const isSame = before.size === found.size && [...found].every(([id, each]) => before.get(id) === each);
      if (!isSame || this.#isVerificationChanged) this.#notKnown = found;
      this.#isVerificationChanged = false;
    }
    return this.#notKnown;
  }

  /** @returns the same view as long as nothing has changed that a decision depends on: nothing is made on the request path */
  view(snapshot: RoutingTable | undefined): ServersView {
    const notKnown = this.notKnown();
    if (this.#view.snapshot !== snapshot || this.#viewedBy !== notKnown) {
      this.#view = viewOf(snapshot, notKnown, (id) => this.is(id, isVerified));
      this.#viewedBy = notKnown;
    }
    return this.#view;
  }

  /**
   * Waits for a change of the records.
   * @param isOver asked now, and after each change
   * @param client its signal ends the waiting as well: nobody waits for a client that has left
   */
  until(isOver: () => boolean, client?: Client): Promise<void> {
    return isOver() ? Promise.resolve() : this.#wait(isOver, client);
  }

  /** Waits for the next change of the records, or `tellWaiters`. @param milliseconds for which it waits at most */
  changed(milliseconds: number, client?: Client): Promise<void> {
    return this.#wait(() => true, client, milliseconds);
  }

  /** To be called when that for which somebody waits may have come without a change here: a snapshot, or a point in time. */
  tellWaiters(): void {
    for (const waiter of [...this.#waiters]) if (waiter.isOver()) waiter.end();
  }

  #wait(isOver: Waiter['isOver'], client?: Client, milliseconds?: number): Promise<void> {
    const signal = client?.signal;
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const waiter: Waiter = {
        isOver,
        end: () => {
          this.#waiters.delete(waiter);
          clearTimeout(timer);
          signal?.removeEventListener('abort', waiter.end);
          resolve();
        },
      };
      const timer = milliseconds === undefined ? undefined : setTimeout(waiter.end, milliseconds);
      this.#waiters.add(waiter);
      signal?.addEventListener('abort', waiter.end);
    });
  }

  /**
   * Waits until a probe has told whether a server that was lost, or may have been replaced, is still the same.
   * @returns left out where there is nothing to wait for
   */
  settled(id: string, client?: Client): Promise<void> | undefined {
    const record = this.#records.get(id);
    if (record === undefined || !isAwaited(record)) return undefined;
    return this.until(() => {
      const now = this.#records.get(id);
      return now === undefined || !isAwaited(now);
    }, client);
  }

  /** `settled` of the servers that are awaited now. */
  allSettled(client?: Client): Promise<unknown> | undefined {
    if (!this.areAwaited()) return undefined;
    return Promise.all([...this.#records.keys()].map((id) => this.settled(id, client)));
  }

  areAwaited(): boolean {
    for (const record of this.#records.values()) if (isAwaited(record)) return true;
    return false;
  }

  isProbed(id: string): boolean {
    return this.#records.get(id)?.askedAt !== undefined;
  }

  report(id: string): ServerReport | undefined {
    const known = this.#records.get(id);
    if (known === undefined) return undefined;
    const record = this.#now(known);
    const { state, answer } = record;
    const now = this.#monotonic();
    return {
      id,
      status: state.kind,
      reason: reasonOf(state),
      isUp: isUp(record, now, this.#options),
      isDown: isDown(record, now, this.#options),
      forMilliseconds: Math.max(0, now - presentOf(state).since),
      isHeard: answer !== undefined,
    };
  }

  reports(): readonly ServerReport[] {
    return [...this.#records.keys()].flatMap((id) => this.report(id) ?? []);
  }

  /** The record as it is by now: some states end by themselves. */
  #now(record: ServerRecord): ServerRecord {
    this.#endStates();
    return this.#records.get(record.id) ?? record;
  }

  #endStates(): void {
    if (this.#endsAt === Number.POSITIVE_INFINITY) return;
    const now = this.#monotonic();
    if (now < this.#endsAt) return;
    for (const record of this.#records.values()) {
      if (endsAt(record) <= now)
        this.#exchange(record.id, record, next(record, { kind: 'time' }, now, this.#options));
    }
  }

  #exchange(id: string, before: ServerRecord | undefined, after: ServerRecord | undefined): void {
    if (after === undefined) this.#records.delete(id);
    else this.#records.set(id, after);
    if (before?.state === after?.state && before?.isVerified === after?.isVerified) return;
    this.#isChanged = true;
    if (before?.isVerified !== after?.isVerified) this.#isVerificationChanged = true;
    const records = [...this.#records.values()];
    this.#endsAt = Math.min(...records.map(endsAt));
    this.#outdated = records.filter(isOutdated).length;
    this.tellWaiters();
    if (before === undefined || after === undefined) return;
    const now = this.#monotonic();
    const [wasUp, wasDown] = [isUp(before, now, this.#options), isDown(before, now, this.#options)];
    const [isUpNow, isDownNow] = [isUp(after, now, this.#options), isDown(after, now, this.#options)];
    if (wasUp === isUpNow && wasDown === isDownNow) return;
    const { state } = after;
    const change = { id, status: state.kind, reason: reasonOf(state), isDown: isDownNow, wasDown };
    for (const observer of this.#observers) observer.changed?.(change);
  }
}

function hasLoss({ state }: ServerRecord): boolean {
  return lossOf(presentOf(state)) !== undefined;
}

function isLoss(event: ServerEvent): boolean {
  if (event.kind === 'connection lost') return true;
  return event.kind === 'answered' && (event.outcome === 'refused' || event.outcome === 'not-connected');
}

/** True if the server is to be asked at once. A probe that has ended is no reason for another one. */
function givesReasonToAsk(event: ServerEvent, before: ServerRecord, after: ServerRecord): boolean {
  switch (event.kind) {
    case 'connection lost':
    case 'no response':
      return true;
    case 'GOAWAY':
      return after.askedAt !== undefined;
    case 'stood still':
    case 'told':
      return after.state !== before.state;
    default:
      return false;
  }
}
