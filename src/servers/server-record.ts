import {
  type HealthThresholds,
  type Instant,
  lossOf,
  type PresentState,
  presentOf,
  type ServerEvent,
  type ServerRecord,
  startDuration,
  startOf,
} from './server-states.ts';
import { type Finding, nextState, outdated, type Turn } from './state-transitions.ts';

/** @param isOutdated true: what is known of the server is of an earlier run, and holds once a probe has verified it */
export function newRecord(id: string, now: Instant, isOutdated = false): ServerRecord {
  const state = isOutdated ? outdated(undefined, now) : neverAsked(now);
  return { id, state, isVerified: false, hasShownReadiness: false };
}

/**
 * The only function in which a state changes. Pure.
 * @returns the same record where the event changes nothing
 */
export function next(
  record: ServerRecord,
  event: ServerEvent,
  now: Instant,
  thresholds: HealthThresholds,
): ServerRecord {
  if (event.kind === 'asked') return { ...record, askedAt: now };
  // Nobody could say of a server that is not probed that it is back.
  const isHeld =
    event.kind === 'connection lost' || event.kind === 'GOAWAY' || event.kind === 'lease changed';
  if (isHeld && record.askedAt === undefined) return record;
  const finding = event.kind === 'answered' ? findingOf(record, event, now) : undefined;
  const known = withEvidence(record, event, finding, now);
  const turn: Turn = { event, finding, record: known, now, thresholds };
  const state = nextState(record.state, turn);
  if (known === record && state === record.state) return record;
  const isBack = known.silentAt !== undefined && presentOf(state).kind === 'ready';
  return { ...known, state, ...(isBack ? { silentAt: undefined } : {}) };
}

const never = Number.POSITIVE_INFINITY;

/** The only function that says until when a state lasts by itself. @returns infinity: until something is heard */
export function endsAt({ state }: ServerRecord): Instant {
  const present = presentOf(state);
  switch (present.kind) {
    case 'restarting':
      return startOf(present.loss) + startDuration;
    case 'unverified':
      return present.loss.at + startDuration;
    case 'unready':
    case 'unreachable':
      return present.isHeld && present.loss !== undefined ? present.loss.at + startDuration : never;
    default:
      return never;
  }
}

type Answered = Extract<ServerEvent, { kind: 'answered' }>;

function findingOf(record: ServerRecord, { askedAt, outcome }: Answered, now: Instant): Finding {
  const state = presentOf(record.state);
  const loss = lossOf(state);
  // A probe that could not connect is itself the newest loss.
  if (outcome === 'unreachable') return outcome;
  if (loss !== undefined && askedAt < loss.at) return 'stale';
  if (outcome === 'not-ready') return outcome;
  if (state.kind === 'suspect' && state.doubtedAt !== undefined && askedAt < state.doubtedAt) return 'stale';
  if (outcome === 'ready' || outcome === 'changed') return outcome;
  return isBeforeItsRoles(record, outcome, now) ? 'not-ready' : 'alive';
}

/**
 * The server was started and has not read its RBAC rules yet (`Loss`). A router may have been started with it (the node, or a
 * kubelet that replaces its static pods), and has nothing of before to go by.
 */
function isBeforeItsRoles(record: ServerRecord, outcome: 'alive' | 'refusing', now: Instant): boolean {
  const state = presentOf(record.state);
  const loss = lossOf(state);
  if (record.hasShownReadiness) {
    const isDoubted = state.kind === 'suspect' && state.doubtedAt !== undefined;
    return isDoubted || (loss !== undefined && now - startOf(loss) < startDuration);
  }
  if (outcome !== 'refusing') return false;
  return loss === undefined ? state.kind === 'untried' : now - loss.at < startDuration;
}

/** Facts that hold in every state. */
function withEvidence(
  record: ServerRecord,
  event: ServerEvent,
  finding: Finding | undefined,
  now: Instant,
): ServerRecord {
  switch (event.kind) {
    case 'answered': {
      const { askedAt, outcome } = event;
      const hasShownReadiness = record.hasShownReadiness || outcome === 'ready' || outcome === 'changed';
      const isSame = finding === 'stale' || finding === 'alive';
      const isVerified = isSame ? record.isVerified : finding === 'ready';
      return { ...record, answer: { askedAt, outcome }, hasShownReadiness, isVerified };
    }
    case 'connection lost':
      return { ...record, isVerified: false, ...(event.isRefused ? { silentAt: undefined } : {}) };
    case 'silent':
      return isDown(presentOf(record.state)) ? record : { ...record, silentAt: now };
    case 'GOAWAY':
    case 'lease changed':
    case 'outdated':
      return record.isVerified ? { ...record, isVerified: false } : record;
    case 'read':
      return isToBeRead(presentOf(record.state)) ? { ...record, isVerified: true } : record;
    default:
      return record;
  }
}

function neverAsked(now: Instant): PresentState {
  return { kind: 'untried', reason: 'NeverAsked', since: now, failures: 0 };
}

/** The snapshot's word on the server would end the state. */
function isToBeRead(state: PresentState): boolean {
  return state.kind === 'unverified' || (state.kind === 'suspect' && state.reason === 'NotVerified');
}

function isDown({ kind }: PresentState): boolean {
  return kind === 'unready' || kind === 'unreachable';
}
