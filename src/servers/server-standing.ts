import type { MissingKnowledge } from '../snapshot/routing-table/routing-table.ts';
import { countsAfter } from '../snapshot/routing-table/version-instants.ts';
import {
  type HealthThresholds,
  type Instant,
  isDownState,
  lossOf,
  presentOf,
  type ServerRecord,
  type ServerState,
  startDuration,
  startOf,
} from './server-states.ts';

/**
 * The place of a server among those that may be asked. `first`: as any other. `last`: where no other is left, since the
 * server's `/readyz` may be wrong. `not`: before the server is known again. A server that has ended and is not ready
 * yet would refuse what it should not. Its false 403 ends a client's work, where a 503 with Retry-After has the client
 * ask again.
 */
export type MayBeAsked = 'first' | 'last' | 'not';

export function mayBeAsked(record: ServerRecord): MayBeAsked {
  const state = presentOf(record.state);
  switch (state.kind) {
    case 'ready':
      return 'first';
    case 'untried':
      return state.reason === 'NeverAsked' ? 'first' : 'last';
    case 'suspect':
      return state.reason === 'NotVerified' ? 'last' : 'first';
    case 'restarting':
      return state.isTried ? 'not' : 'last';
    case 'unverified':
      return 'not';
    case 'unready':
    case 'unreachable':
      return state.isHeld ? 'not' : 'last';
  }
}

/**
 * The knowledge that is missing of a server that gets nothing until it is known again, even where no other server could
 * respond.
 */
export function missingKnowledge(record: ServerRecord): MissingKnowledge | undefined {
  if (mayBeAsked(record) !== 'not') return undefined;
  const { kind } = presentOf(record.state);
  return isMissing(kind) ? kind : undefined;
}

function isMissing(kind: ServerState['kind']): kind is MissingKnowledge {
  return isDownState(kind);
}

/** True if nothing is to be sent to the server before a probe has said whether it is still the same process. */
export function isAwaited(record: ServerRecord): boolean {
  const state = presentOf(record.state);
  switch (state.kind) {
    case 'untried':
      return state.reason === 'KnowledgeOutdated';
    case 'suspect':
      return state.isAwaited;
    case 'restarting':
      return !state.isTried;
    default:
      return false;
  }
}

export function isVerified(record: ServerRecord): boolean {
  return record.isVerified;
}

/** True if all that is known of the server is of before: an earlier run, or before this process stood still. */
export function isOutdated(record: ServerRecord): boolean {
  const state = presentOf(record.state);
  return state.kind === 'untried' && state.reason === 'KnowledgeOutdated';
}

/** How long a server that is silent, or says that it is not ready, may still carry out what others send it, milliseconds. */
const stillServesFor = 10_000;
/** The same of a server that is gone: what it had taken before. */
const goneServesFor = 2_000;
/** The same of a server that was found silent: a router that sends it nothing finds it by three probes, up to 20 s later. */
const silentServesFor = 20_000 + stillServesFor;

/**
 * True if another router may still send to the server, or have something carried out there. Each router learns by itself that
 * a server is slow or not ready, some seconds apart.
 */
export function mayStillServe(record: ServerRecord, now: Instant): boolean {
  const { silentAt, readAt } = record;
  const state = presentOf(record.state);
  const loss = lossOf(state);
  // The reader of the cluster has reached the server since it was found down: it may be this router that was cut off.
  const isReadSince = readAt !== undefined && readAt >= (loss?.at ?? state.since);
  if (isReadSince && now - readAt < stillServesFor) return true;
  if (silentAt !== undefined && now - silentAt < silentServesFor) return true;
  if (loss !== undefined) return now - loss.since < (loss.isGone ? goneServesFor : stillServesFor);
  return (state.kind !== 'unready' && state.kind !== 'unreachable') || now - state.since < stillServesFor;
}

/**
 * Milliseconds after a server was ready from which another router may know its new version: five seconds before that version
 * counts for anybody, so that this router has stopped by then.
 */
const knownAfterReady = countsAfter - 5_000;
/** The same after the server took its Lease, which a server does some seconds before it is ready. */
const knownAfterLease = knownAfterReady + 2_000;
/** How long it is waited for that the snapshot says what a server is now, milliseconds. */
const behindFor = 15_000;

/**
 * True if another router may let the version of a server count that this router does not know: another process runs the
 * server, and for some seconds it has not been known that the server is not ready.
 */
export function isKnownToOthers(record: ServerRecord, now: Instant): boolean {
  const { from, until } = knownToOthers(record);
  return from <= now && now < until;
}

/** True if the snapshot still does not say what the server is now, and this router has waited for that in vain. */
export function isUntold(record: ServerRecord, now: Instant): boolean {
  return knownToOthers(record).until <= now;
}

const notToOthers = { from: Number.POSITIVE_INFINITY, until: Number.POSITIVE_INFINITY };

function knownToOthers(record: ServerRecord): { readonly from: Instant; readonly until: Instant } {
  const state = presentOf(record.state);
  const loss = lossOf(state);
  if (loss === undefined || (state.kind !== 'unverified' && loss.changedHandsAt === undefined))
    return notToOthers;
  const { notReadyAt, changedHandsAt = Number.NEGATIVE_INFINITY } = loss;
  const from = Math.max(notReadyAt + knownAfterReady, changedHandsAt + knownAfterLease);
  return { from, until: Math.max(from, loss.since) + behindFor };
}

/** True if the server may serve in a moment what nobody is known to serve: it was lost or not ready a short while ago. */
export function mayBeStarting(record: ServerRecord, now: Instant): boolean {
  const { kind, since } = presentOf(record.state);
  if (kind === 'restarting' || kind === 'unverified') return true;
  return kind === 'unready' && now - since < startDuration;
}

/**
 * True if the next probe may find the server ready: the server was lost a short while ago, or another process runs it since then.
 * A server that has said what it is waits for the reader of the cluster: to ask it for all that it serves ten times a second would
 * only be in the reader's way.
 */
export function mayBeReadySoon(record: ServerRecord, now: Instant): boolean {
  const state = presentOf(record.state);
  if (state.kind === 'unverified' && record.word !== undefined) return false;
  const loss = lossOf(state);
  return mayBeStarting(record, now) || (loss !== undefined && now - startOf(loss) < startDuration);
}

/** True of a server to which requests go at most when no other server is left. */
export function isDown(
  { state }: ServerRecord,
  _now: Instant,
  { fall }: Pick<HealthThresholds, 'fall'>,
): boolean {
  const present = presentOf(state);
  if (present.kind === 'restarting') return present.failures >= fall;
  return present.kind === 'unready' || present.kind === 'unreachable';
}

/** True of a server that has been heard to be ready, and is not down. A connection may break under a server that is well. */
export function isUp(
  record: ServerRecord,
  now: Instant,
  thresholds: Pick<HealthThresholds, 'fall'>,
): boolean {
  const { kind } = presentOf(record.state);
  if (kind === 'untried') return false;
  return kind === 'restarting'
    ? record.hasShownReadiness && !isDown(record, now, thresholds)
    : !isDown(record, now, thresholds);
}

/** True if the next probe decides something, and should come sooner. */
export function isInDoubt(
  record: ServerRecord,
  _now: Instant,
  { rise }: Pick<HealthThresholds, 'rise'>,
): boolean {
  const state = presentOf(record.state);
  return state.kind !== 'ready' || state.successes < rise;
}
