import type { MissingKnowledge } from '../snapshot/routing-table/routing-table.ts';

export type ProbeOutcome =
  | 'ready'
  /** 200, and what it says of itself is not what the snapshot has: it was upgraded, or restarted with other flags. */
  | 'changed'
  /** It responds, but not to that question (401, 403, 404, 429): alive, and nothing is known against it. */
  | 'alive'
  /** 403 to that and to `/api`, which every authenticated user may read: as a kube-apiserver that does not know its roles yet. */
  | 'refusing'
  /** 5xx: it runs and asks not to be used, as kube-apiserver does while it starts and shuts down. */
  | 'not-ready'
  /** No response: refused, TLS failure, reset, or none in time. */
  | 'unreachable';

export type HealthSignal =
  | ProbeOutcome
  | 'not-connected'
  /** No response to anything, neither to requests nor to a question that is no work (`SilenceWatch`). */
  | 'silent';

/** `unknown`: not probed yet. It is used like a healthy one. */
export type HealthStatus = 'unknown' | 'healthy' | 'unhealthy';

export type UnhealthyCause = 'not-ready' | 'unreachable';

export interface HealthThresholds {
  /** Probes in a row that must succeed before an unhealthy server is healthy. At least 1. */
  readonly rise: number;
  /** Failures in a row that make a server unhealthy. At least 1. */
  readonly fall: number;
}

/**
 * A connection to a server was refused, or broke, and no probe that began later has found it ready. It may be another process
 * by now: kube-apiserver responds with 403 to everybody until its RBAC caches are filled, and says at `/readyz` when they are
 * (k8s.io/kubernetes pkg/registry/rbac/rest/storage_rbac.go, hook `rbac/bootstrap-roles`).
 */
interface LostConnection {
  readonly since: number;
  readonly at: number;
  /** Another process runs it since then, by the snapshot: however long the one before was away, this one starts. */
  readonly changedHandsAt?: number | undefined;
  /** A connection was refused since: nobody has one any more. Else it may be silent for this router alone. */
  readonly isGone?: boolean;
  readonly probing: boolean;
  readonly askedAt?: number | undefined;
  /** When it was asked, for the last time, and was not ready by its own word, or refused a connection. */
  readonly notReadyAt?: number | undefined;
  /** What probes since have found to be missing. Left out before the first has ended. */
  readonly missing?: MissingKnowledge | undefined;
}

/**
 * `untried`: no probe that began since has ended. `unverified`: it has responded, and says something else of itself than the
 * snapshot: until that says so, too.
 */
export type ConfirmationMissing = 'untried' | 'unverified';

interface Unconfirmed {
  readonly kind: ConfirmationMissing;
  readonly since: number;
}

/** What is known of one server. Immutable; times are milliseconds of a clock that only rises. */
export interface ServerState {
  readonly status: HealthStatus;
  /** Why it is unhealthy, by the last failure; `undefined` otherwise. */
  readonly cause: UnhealthyCause | undefined;
  readonly since: number;
  readonly successes: number;
  readonly failures: number;
  /** Requests in a row that found no connection. Apart from `failures`, since any response ends this row. */
  readonly missedConnections: number;
  readonly lost?: LostConnection | undefined;
  /** Whether a probe has been responded to with 200: this router may read its `/readyz`. */
  readonly hasShownReadiness?: boolean | undefined;
  /** It has once said of itself what the snapshot says of it. Until then it is asked with each probe. */
  readonly isVerified?: boolean | undefined;
  /** When a request last gave reason to probe it (no response, a GOAWAY); no probe that began since has ended. */
  readonly suspectedAt?: number | undefined;
  /** When it was found silent. Left out once it is healthy again, or refuses connections. */
  readonly silentAt?: number | undefined;
  /** When the last probe began. */
  readonly askedAt?: number | undefined;
  /** The snapshot's word on the server is from before this process could know: of an earlier run, or of before it stood still. */
  readonly unconfirmed?: Unconfirmed | undefined;
  readonly isHeard?: boolean;
}

export function initialHealth(now: number): ServerState {
  return {
    status: 'unknown',
    cause: undefined,
    since: now,
    successes: 0,
    failures: 0,
    missedConnections: 0,
  };
}

/**
 * Nothing is known of it before a probe that begins from now on has said what it is: requests wait for that. Other routers may
 * know for long what it is, and go by it.
 */
export function untried(state: ServerState, now: number): ServerState {
  const { since = now, missing } = state.lost ?? {};
  const lost: LostConnection = {
    ...state.lost,
    since,
    at: now,
    probing: false,
    notReadyAt: Number.NEGATIVE_INFINITY,
    missing,
  };
  return { ...state, lost, isVerified: undefined, unconfirmed: { kind: 'untried', since: now } };
}

/** The knowledge that an unconfirmed server lacks; nobody waits for one for longer than for one that starts. */
export function confirmationMissing(
  { unconfirmed }: ServerState,
  now: number,
): ConfirmationMissing | undefined {
  return unconfirmed !== undefined && now - unconfirmed.since < startDuration ? unconfirmed.kind : undefined;
}

export function isUntried({ unconfirmed }: ServerState): boolean {
  return unconfirmed?.kind === 'untried';
}

/** An answer to what was asked before says nothing of it. One that cannot be reached has been tried. */
function confirmedBy(state: ServerState, outcome: HealthSignal): Unconfirmed | undefined {
  const { unconfirmed, askedAt } = state;
  const isAnswer =
    outcome !== 'not-connected' &&
    outcome !== 'silent' &&
    unconfirmed !== undefined &&
    askedAt !== undefined &&
    askedAt >= unconfirmed.since;
  if (!isAnswer) return unconfirmed;
  return outcome === 'changed' ? { ...unconfirmed, kind: 'unverified' } : undefined;
}

/**
 * Rows of equal signals decide (HAProxy's `rise` and `fall`), so that a server that flaps stays what it was, and no history
 * keeps one down that has passed `rise` probes in a row.
 */
export function nextHealth(
  before: ServerState,
  signal: HealthSignal,
  thresholds: HealthThresholds,
  now: number,
): ServerState {
  const state =
    before.unconfirmed === undefined ? before : { ...before, unconfirmed: confirmedBy(before, signal) };
  const heard = isBeforeItsRoles(state, signal, now) ? 'not-ready' : signal;
  if (heard === 'changed') {
    // The first word of all: what the snapshot says may be from long before this router was started.
    const unheard: LostConnection = {
      since: now,
      at: now,
      probing: true,
      notReadyAt: Number.NEGATIVE_INFINITY,
    };
    const { lost: before = unheard } = state;
    // However long it was away: from now on the snapshot has a minute to say what it is.
    const at = before.missing === 'served-set' ? before.at : now;
    const lost: LostConnection = before.probing ? { ...before, at, missing: 'served-set' } : before;
    const known = { ...state, lost, suspectedAt: doubtLeft(state), hasShownReadiness: true };
    return afterSuccess(known, thresholds, now);
  }
  if (heard === 'alive' || heard === 'refusing') {
    // A server that this router may not ask (a gateway without a pair, servers without anonymous callers) never says of itself
    // what it serves: the snapshot does.
    const isUnread = state.lost?.missing === 'served-set';
    const better = isUnread ? { ...state, suspectedAt: doubtLeft(state) } : withoutDoubt(state);
    return afterSuccess(better, thresholds, now);
  }
  if (heard === 'ready') {
    const known = { ...withoutDoubt(state), isVerified: true, hasShownReadiness: true };
    return afterSuccess(known, thresholds, now);
  }
  if (heard === 'silent') return afterSilence(state, now);
  const failed =
    heard === 'not-connected'
      ? { ...state, successes: 0, missedConnections: state.missedConnections + 1 }
      : { ...afterFailedProbe(state, heard, signal, now), successes: 0, failures: state.failures + 1 };
  const cause: UnhealthyCause = heard === 'not-ready' ? 'not-ready' : 'unreachable';
  // One that was away and says that it is not ready has been started now.
  if (state.status === 'unhealthy')
    return { ...failed, cause, since: cause === state.cause ? state.since : now };
  if (Math.max(failed.failures, failed.missedConnections) < thresholds.fall) return failed;
  return { ...failed, status: 'unhealthy', cause, since: now };
}

/**
 * It was started and has not read its RBAC rules yet (`LostConnection`). A router may have been started with it (the node,
 * or a kubelet that replaces its static pods), and has nothing of before to go by.
 */
function isBeforeItsRoles(state: ServerState, signal: HealthSignal, now: number): boolean {
  if (signal === 'refusing' && state.hasShownReadiness !== true) {
    return state.lost === undefined ? state.status === 'unknown' : now - state.lost.at < startDuration;
  }
  return (
    (signal === 'alive' || signal === 'refusing') &&
    state.hasShownReadiness === true &&
    (isAskedForDoubt(state) || isLostLately(state, now))
  );
}

function afterSilence(state: ServerState, now: number): ServerState {
  if (state.status === 'unhealthy') return state;
  return { ...state, status: 'unhealthy', cause: 'unreachable', since: now, successes: 0, silentAt: now };
}

/** @param isRefused nothing takes connections there */
export function afterLostConnection(state: ServerState, now: number, isRefused = false): ServerState {
  const { since = now, missing, isGone = false } = state.lost ?? {};
  // One that is lost once more after it was ready has ended, or has not: a probe says which.
  const lost: LostConnection = {
    ...state.lost,
    since,
    at: now,
    isGone: isGone || isRefused,
    ...(isRefused ? { notReadyAt: now } : {}),
    probing: false,
    missing: missing && 'readiness',
  };
  return { ...state, lost, silentAt: isRefused ? undefined : state.silentAt };
}

/** The server takes no more requests on a connection (GOAWAY). Behind the next one may be another process. */
export function afterGoAway(state: ServerState, now: number): ServerState {
  return { ...state, suspectedAt: now, isVerified: undefined };
}

/** True if nothing is to be sent to it before a probe has said whether it is still the same. */
export function isAwaited({ lost, suspectedAt, isVerified }: ServerState): boolean {
  if (lost !== undefined) return lost.missing === undefined;
  return suspectedAt !== undefined && isVerified !== true;
}

export function afterChangeOfHands(state: ServerState, now: number): ServerState {
  const { since = now } = state.lost ?? {};
  const lost: LostConnection = {
    ...state.lost,
    since,
    at: now,
    changedHandsAt: now,
    isGone: true,
    probing: false,
    missing: 'served-set',
  };
  return { ...state, lost };
}

export function afterReading(state: ServerState): ServerState {
  if (state.lost?.missing !== 'served-set') return state;
  return { ...state, lost: undefined, unconfirmed: undefined, isVerified: true };
}

export function whileProbed(state: ServerState, now: number): ServerState {
  const { lost } = state;
  const asked = { ...state, askedAt: now };
  return lost === undefined ? asked : { ...asked, lost: { ...lost, probing: true, askedAt: now } };
}

/** What a probe has found that began before the connection was lost is said of the process of before. */
function withoutDoubt(state: ServerState): ServerState {
  if (state.lost === undefined && state.suspectedAt === undefined) return state;
  const lost = state.lost?.probing === false ? state.lost : undefined;
  return { ...state, lost, suspectedAt: doubtLeft(state) };
}

/** True if the probe that has ended was asked because of the doubt, or later than it. */
function isAskedForDoubt({ suspectedAt, askedAt = Number.NEGATIVE_INFINITY }: ServerState): boolean {
  return suspectedAt !== undefined && suspectedAt <= askedAt;
}

/** A doubt that came while a server was being asked is not answered by that. */
function doubtLeft(state: ServerState): number | undefined {
  return isAskedForDoubt(state) ? undefined : state.suspectedAt;
}

function afterFailedProbe(
  state: ServerState,
  heard: HealthSignal,
  signal: HealthSignal,
  now: number,
): ServerState {
  // Who broke off and then says that it is not ready was restarted in the meantime.
  const isRestarted = (isAskedForDoubt(state) && heard === 'not-ready') || signal === 'refusing';
  const lost: LostConnection | undefined =
    state.lost ?? (isRestarted ? { since: now, at: now, probing: true } : undefined);
  const isFound = lost?.missing !== undefined || lost?.probing === true || heard === 'unreachable';
  return {
    ...state,
    suspectedAt: doubtLeft(state),
    // Once it is ready, or heard again, it may be of another version.
    isVerified: undefined,
    lost: lost && {
      ...lost,
      ...(signal === 'not-ready' && lost.probing ? { notReadyAt: lost.askedAt } : {}),
      missing: isFound ? 'readiness' : undefined,
    },
  };
}

/**
 * Milliseconds after a lost connection for which a server that does not say that it is ready is taken for one that starts. A
 * kube-apiserver takes a few seconds.
 */
const startDuration = 60_000;

/**
 * What is missing of a server that was lost, and gets nothing until it is known again, even where no other server could
 * respond. One that has never been ready since this router started is down. A minute after it was lost for the last time it is
 * used all the same: its `/readyz` may be wrong, and the sync job may be down.
 */
export function missingKnowledge(
  { lost, hasShownReadiness }: ServerState,
  now: number,
): MissingKnowledge | undefined {
  if (lost === undefined || now - lost.at >= startDuration) return undefined;
  const isDown = now - startOf(lost) >= startDuration || hasShownReadiness !== true;
  return lost.missing === 'readiness' && isDown ? 'down' : lost.missing;
}

/** Milliseconds until `missingKnowledge` changes by itself. */
export function missingFor({ lost }: ServerState, now: number): number {
  if (lost?.missing === undefined) return Number.POSITIVE_INFINITY;
  const ends = [startOf(lost), lost.at].map((time) => time + startDuration - now);
  return Math.min(...ends.filter((left) => left > 0));
}

export function isVerified({ isVerified }: ServerState): boolean {
  return isVerified === true;
}

/** The snapshot has been verified for it, and nothing has given reason to doubt that it is still the same process. */
export function isInUse({ lost, isVerified }: ServerState): boolean {
  return lost === undefined && isVerified === true;
}

/** It may have been upgraded while it was away, or while this router was. */
export function isToBeVerified({ lost, isVerified }: ServerState): boolean {
  return lost !== undefined || isVerified !== true;
}

/** How long a server that is silent, or says that it is not ready, may still carry out what others send it, milliseconds. */
const stillServesFor = 10_000;
/** The same of one that is gone: what it had taken before. */
const goneServesFor = 2_000;
/** The same of one that was found silent: a router that sends it nothing finds it by three probes, up to 20 s later. */
const silentServesFor = 20_000 + stillServesFor;

/**
 * Whether another router may still send to it, or have something carried out there. Each learns by itself that a server is
 * slow or not ready, some seconds apart.
 */
export function mayStillServe({ status, since, lost, silentAt }: ServerState, now: number): boolean {
  if (silentAt !== undefined && now - silentAt < silentServesFor) return true;
  if (lost !== undefined) return now - lost.since < (lost.isGone === true ? goneServesFor : stillServesFor);
  return status !== 'unhealthy' || now - since < stillServesFor;
}

/** Nobody lets a new version count sooner after its server was ready, or had its Lease, by a margin (src/sync/version-changes.ts). */
const knownAfterReady = 3_000;
const knownAfterLease = 5_000;
/** How long it is waited for that the snapshot says what a server is now, milliseconds. */
const behindFor = 15_000;

/**
 * Whether another router may let the version of a server count that this one does not know: another process runs it, and it
 * has not been known for some seconds that it is not ready.
 */
export function isKnownToOthers({ lost }: ServerState, now: number): boolean {
  if (lost === undefined || (lost.missing !== 'served-set' && lost.changedHandsAt === undefined))
    return false;
  const { notReadyAt = lost.since, changedHandsAt = Number.NEGATIVE_INFINITY } = lost;
  const from = Math.max(notReadyAt + knownAfterReady, changedHandsAt + knownAfterLease);
  return from <= now && now < Math.max(from, lost.since) + behindFor;
}

/** Whether it may serve in a moment what nobody is known to serve: it was lost or not ready a short while ago. */
export function mayBeStarting(state: ServerState, now: number): boolean {
  const { status, cause, since } = state;
  const missing = missingKnowledge(state, now);
  if (missing !== undefined && missing !== 'down') return true;
  return status === 'unhealthy' && cause === 'not-ready' && now - since < startDuration;
}

/** Whether it was lost a short while ago, or another process runs it since then: it may be ready any moment. */
export function isLostLately({ lost }: ServerState, now: number): boolean {
  return lost !== undefined && now - startOf(lost) < startDuration;
}

function startOf({ since, changedHandsAt = since }: LostConnection): number {
  return changedHandsAt;
}

function afterSuccess(state: ServerState, { rise }: HealthThresholds, now: number): ServerState {
  const successes = state.successes + 1;
  const better = { ...state, successes, failures: 0, missedConnections: 0 };
  if (state.status === 'healthy') return better;
  // The first thing that is heard of a server counts at once: there is no earlier word against it.
  if (state.status === 'unknown') return { ...better, status: 'healthy', since: now };
  if (successes < rise) return better;
  return { ...better, status: 'healthy', cause: undefined, since: now, silentAt: undefined };
}

/**
 * Whatever the code: 500 may be an admission webhook's, 503 and 429 another server's or the wish for a pause. Only `/readyz`
 * says that a server is not to be used: a kube-apiserver that shuts down responds for a while
 * (`--shutdown-delay-duration`).
 */
export function healthAfterResponse(state: ServerState): ServerState {
  return state.missedConnections === 0 ? state : { ...state, missedConnections: 0 };
}

/** The next probe decides something, and should come sooner. */
export function isInDoubt(state: ServerState, _now: number, { rise }: HealthThresholds): boolean {
  return (
    state.lost !== undefined ||
    state.suspectedAt !== undefined ||
    state.status === 'unhealthy' ||
    state.failures > 0 ||
    state.missedConnections > 0 ||
    state.successes < rise
  );
}
