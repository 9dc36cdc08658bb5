import type { MissingKnowledge } from '../snapshot/routing-table/routing-table.ts';
import {
  afterChangeOfHands,
  afterGoAway,
  afterLostConnection,
  afterReading,
  type ConfirmationMissing,
  confirmationMissing,
  type HealthSignal,
  type HealthStatus,
  type HealthThresholds,
  healthAfterResponse,
  initialHealth,
  isAwaited,
  isUntried,
  missingFor,
  missingKnowledge,
  nextHealth,
  type ProbeOutcome,
  type ServerState,
  type UnhealthyCause,
  untried,
  whileProbed,
} from './server-state.ts';

export interface ServerHealthOptions extends HealthThresholds {
  readonly monotonic?: () => number;
  /** Milliseconds since the epoch, for `look`. Default `Date.now`. */
  readonly wall?: () => number;
}

/**
 * From so many milliseconds between two looks on, this process stood still. Less than other routers wait before they change the
 * version (`versionSettlesFor`).
 */
const standStill = 1_000;

export interface ServerHealthReport {
  readonly id: string;
  readonly status: HealthStatus;
  readonly cause: UnhealthyCause | undefined;
  readonly forMilliseconds: number;
  /** Whether a probe of it has ended. */
  readonly isHeard: boolean;
  /** Left out: what is known of it is of this process, or of who reads the cluster meanwhile. */
  readonly missing?: ConfirmationMissing | undefined;
}

/**
 * Whether a server may be asked: `first`, as any other; `last`, where no other is left, since its `/readyz` may be wrong;
 * `not` before it is known again: a server that has ended and is not ready yet would refuse what it should not, and its
 * false 403 ends a client's work, where a 503 with Retry-After has it ask again.
 */
export type MayBeAsked = 'first' | 'last' | 'not';

export interface HealthChange {
  readonly id: string;
  readonly from: HealthStatus;
  readonly to: HealthStatus;
  /** Why it is unhealthy; `undefined` otherwise. */
  readonly cause: UnhealthyCause | undefined;
}

/** Must not throw. */
export interface HealthObserver {
  /** Once for each change of status, never for failures that change nothing. */
  changed?(change: HealthChange): void;
  /** It is put aside until its `/readyz` says that it is ready: a connection to it was refused, or broke. */
  lost?(id: string): void;
  /** A request gives reason to look at the server at once: no connection, or no response on one. */
  doubted?(id: string): void;
  /** This process stood still for so many milliseconds: no server is known before it has been probed. */
  stoodStill?(milliseconds: number): void;
}

export class ServerHealth {
  readonly #states = new Map<string, ServerState>();
  readonly #observers = new Set<HealthObserver>();
  /** Of those that are followed; a server that is never probed could never say that it is ready. */
  readonly #probed = new Set<string>();
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();
  /** As `notKnown` gave it last, and until when it holds; `undefined`: it is to be worked out. */
  #notKnown: ReadonlyMap<string, MissingKnowledge> = new Map();
  #notKnownUntil: number | undefined = Number.POSITIVE_INFINITY;
  readonly #untried = new Set<string>();
  #lookedAt: { readonly now: number; readonly date: number } | undefined;
  readonly #options: ServerHealthOptions;
  readonly #monotonic: () => number;

  constructor(options: ServerHealthOptions) {
    this.#options = options;
    this.#monotonic = options.monotonic ?? (() => performance.now());
  }

  observe(observer: HealthObserver): () => void {
    this.#observers.add(observer);
    return () => {
      this.#observers.delete(observer);
    };
  }

  /** @param isStored what is known of it is of an earlier run: nothing holds before a probe has verified it */
  follow(id: string, isStored = false): void {
    const now = this.#monotonic();
    const initial = initialHealth(now);
    this.#set(id, undefined, isStored ? untried(initial, now) : initial);
  }

  /**
   * To be called again and again while the process runs, and before a request is decided: time that has passed in between
   * without a call is time in which this process stood still (a signal, a suspended machine, a starved loop), and what
   * it knew of servers may be of long ago.
   */
  look(): void {
    const { wall = Date.now } = this.#options;
    const [now, date] = [this.#monotonic(), wall()];
    const last = this.#lookedAt;
    this.#lookedAt = { now, date };
    // CLOCK_MONOTONIC stands still while the machine is suspended; a wall clock may be set.
    const stood = last === undefined ? 0 : Math.max(now - last.now, date - last.date);
    if (stood < standStill) return;
    for (const observer of this.#observers) observer.stoodStill?.(stood);
    for (const id of this.#states.keys()) {
      this.#change(id, untried);
      this.#doubt(id);
    }
  }

  /** True if a probe of a server has to end before anything is decided by what is known of it. */
  areToBeTried(): boolean {
    // A timer looks while requests rest; without one nobody could tell rest from a stand-still.
    if (this.#lookedAt !== undefined) this.look();
    return this.#untried.size > 0;
  }

  unfollow(id: string): void {
    this.#states.delete(id);
    this.#untried.delete(id);
    this.#notKnownUntil = undefined;
    this.#probed.delete(id);
    this.#endWaiting(id);
  }

  probing(id: string): void {
    if (this.#change(id, whileProbed) !== undefined) this.#probed.add(id);
  }

  probed(id: string, outcome: ProbeOutcome): void {
    this.#signal(id, outcome);
    this.#change(id, (state) => ({ ...state, isHeard: true }));
    this.#endWaiting(id);
  }

  /** A request found no connection to it: refused, no route, TLS failure. */
  notConnected(id: string, isRefused = false): void {
    this.#signal(id, 'not-connected');
    this.connectionLost(id, isRefused);
  }

  /**
   * A connection to it was refused, or broke. It may have been restarted, and gets no requests before its `/readyz` says
   * so, which is asked at once.
   * @param isRefused nothing takes connections there
   */
  connectionLost(id: string, isRefused = false): void {
    if (this.#probed.has(id)) {
      const before = this.#change(id, (state, now) => afterLostConnection(state, now, isRefused));
      if (before?.lost === undefined) for (const observer of this.#observers) observer.lost?.(id);
    }
    this.#doubt(id);
  }

  /**
   * A request got no response on a connection that stood (a stream reset, none in time). That proves no outage: it only makes
   * the next probe come at once.
   */
  notResponded(id: string): void {
    this.#change(id, (state, suspectedAt) => ({ ...state, suspectedAt }));
    this.#doubt(id);
  }

  /** The server hangs, by all that it has not responded to; the last server that is left is used all the same. */
  silent(id: string): void {
    const isLast = [...this.#states].every(([other, { status }]) => other === id || status === 'unhealthy');
    if (!isLast) this.#signal(id, 'silent');
  }

  /** The server says GOAWAY, as it does when it ends, and now and then otherwise (`--goaway-chance`). */
  goneAway(id: string): void {
    if (!this.#probed.has(id)) return;
    this.#change(id, afterGoAway);
    this.#doubt(id);
  }

  responded(id: string): void {
    const state = this.#states.get(id);
    // Nearly always: nothing is made on the request path, then.
    if (state === undefined || state.missedConnections === 0) return;
    this.#change(id, healthAfterResponse);
  }

  /** Another process runs it than the one that the snapshot speaks of: it gets nothing before it has been verified. */
  changedHands(id: string): void {
    if (!this.#probed.has(id)) return;
    this.#change(id, afterChangeOfHands);
    this.#doubt(id);
  }

  /** Another version was read than the one that it was verified to be: who was asked and who was read may be two processes. */
  readAsAnother(id: string): void {
    this.#change(id, untried);
    this.#doubt(id);
  }

  read(id: string): void {
    this.#change(id, afterReading);
  }

  mayBeAsked(id: string): MayBeAsked {
    const state = this.#states.get(id);
    // Nearly always: no look at the clock, then.
    if (state?.lost === undefined) return state?.status === 'unhealthy' ? 'last' : 'first';
    return this.whyNot(id) === undefined ? 'last' : 'not';
  }

  whyNot(id: string): MissingKnowledge | undefined {
    const state = this.#states.get(id);
    return state?.lost === undefined ? undefined : missingKnowledge(state, this.#monotonic());
  }

  /** Whether something holds of it by `health-state.ts`; nothing does of one that is not followed. */
  is(id: string, holds: (state: ServerState, now: number, thresholds: HealthThresholds) => boolean): boolean {
    const state = this.#states.get(id);
    return state !== undefined && holds(state, this.#monotonic(), this.#options);
  }

  statusOf(id: string): HealthStatus {
    return this.#states.get(id)?.status ?? 'unknown';
  }

  /**
   * The servers that are not known, with what is missing of each. The same map as long as it says the same, and none of
   * them is verified anew.
   */
  notKnown(): ReadonlyMap<string, MissingKnowledge> {
    const until = this.#notKnownUntil;
    if (until === Number.POSITIVE_INFINITY) return this.#notKnown;
    const now = this.#monotonic();
    if (until !== undefined && now < until) return this.#notKnown;
    const found = new Map<string, MissingKnowledge>();
    let holdsFor = Number.POSITIVE_INFINITY;
    for (const [id, state] of this.#states) {
      const missing = missingKnowledge(state, now);
      if (missing === undefined) continue;
      found.set(id, missing);
      holdsFor = Math.min(holdsFor, missingFor(state, now));
    }
    const before = this.#notKnown;
    const isSame = before.size === found.size && [...found].every(([id, each]) => before.get(id) === each);
    if (!isSame) this.#notKnown = found;
    this.#notKnownUntil = now + holdsFor;
    return this.#notKnown;
  }

  /**
   * Once it is known what is missing of a server that was lost, or may have been replaced, if anything: one probe later.
   * `undefined` where it is.
   */
  settled(id: string): Promise<void> | undefined {
    const state = this.#states.get(id);
    if (state === undefined || !isAwaited(state)) return undefined;
    let waiting = this.#waiting.get(id);
    if (waiting === undefined) {
      waiting = Promise.withResolvers<void>();
      this.#waiting.set(id, waiting);
    }
    // That probe may have begun too early to say.
    return waiting.promise.then(() => this.settled(id));
  }

  /** `settled` of all servers: once it is known of each that was lost whether it is still there. */
  allSettled(): Promise<unknown> | undefined {
    const waiting = [...this.#states.keys()].flatMap((id) => this.settled(id) ?? []);
    return waiting.length === 0 ? undefined : Promise.all(waiting);
  }

  isProbed(id: string): boolean {
    return this.#probed.has(id);
  }

  report(id: string): ServerHealthReport | undefined {
    const state = this.#states.get(id);
    if (state === undefined) return undefined;
    const { status, cause, since, isHeard = false } = state;
    const now = this.#monotonic();
    const missing = confirmationMissing(state, now);
    const forMilliseconds = Math.max(0, now - since);
    return { id, status, cause, forMilliseconds, isHeard, ...(missing && { missing }) };
  }

  reports(): readonly ServerHealthReport[] {
    return [...this.#states.keys()].flatMap((id) => this.report(id) ?? []);
  }

  #signal(id: string, signal: HealthSignal): void {
    const before = this.#change(id, (state, now) => nextHealth(state, signal, this.#options, now));
    const { status: to, cause } = this.#states.get(id) ?? {};
    if (before === undefined || to === undefined || to === before.status) return;
    for (const observer of this.#observers) observer.changed?.({ id, from: before.status, to, cause });
  }

  /** @returns the state before; `undefined` for a server that is not followed */
  #change(id: string, next: (state: ServerState, now: number) => ServerState): ServerState | undefined {
    const before = this.#states.get(id);
    if (before !== undefined) this.#set(id, before, next(before, this.#monotonic()));
    return before;
  }

  #set(id: string, before: ServerState | undefined, state: ServerState): void {
    const isAsBefore = before?.lost === state.lost && before?.hasShownReadiness === state.hasShownReadiness;
    if (!isAsBefore) this.#notKnownUntil = undefined;
    if (before?.isVerified !== state.isVerified) this.#notKnown = new Map(this.#notKnown);
    this.#states.set(id, state);
    if (before?.unconfirmed === state.unconfirmed) return;
    if (isUntried(state)) this.#untried.add(id);
    else this.#untried.delete(id);
  }

  #endWaiting(id: string): void {
    this.#waiting.get(id)?.resolve();
    this.#waiting.delete(id);
  }

  #doubt(id: string): void {
    if (!this.#states.has(id)) return;
    for (const observer of this.#observers) observer.doubted?.(id);
  }
}
