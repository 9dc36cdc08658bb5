import { countedVersionOf } from '../apimachinery/server-version.ts';
import type { SnapshotServer } from '../snapshot/format/schema.ts';
import { countsAfter, versionSettlesFor } from '../snapshot/routing-table/version-instants.ts';
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

/**
 * @param isOutdated true: what is known of the server is of an earlier run, and holds once a probe has verified it
 * @param known `provenAt` of the server that had the address before: a server may come back under another ID
 */
export function newRecord(
  id: string,
  now: Instant,
  isOutdated = false,
  known: Pick<ServerRecord, 'destination' | 'provenAt'> = {},
): ServerRecord {
  const state = isOutdated ? outdated(undefined, now) : neverAsked(now);
  return { id, state, isVerified: false, hasShownReadiness: false, ...known };
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
  if (event.kind === 'said') return event.word === record.word ? record : { ...record, word: event.word };
  if (event.kind === 'told') return afterTold(record, event, now, thresholds);
  if (event.kind === 'answered' && (event.outcome === 'refused' || event.outcome === 'not-connected')) {
    const isRefused = event.outcome === 'refused';
    return afterEvent(
      next(record, { kind: 'connection lost', isRefused }, now, thresholds),
      event,
      now,
      thresholds,
    );
  }
  return afterEvent(record, event, now, thresholds);
}

/** A snapshot's word is one event, or several. */
function afterTold(
  record: ServerRecord,
  event: Told,
  now: Instant,
  thresholds: HealthThresholds,
): ServerRecord {
  // Only a snapshot that tells the server's own word is an answer to that word. More schemas make another set of the same version.
  const [before, after] = [record.told, event.told].map((told) => told && countedVersionOf(told));
  const isNews = record.word === undefined ? before !== after : event.agrees;
  const known = {
    ...record,
    told: event.told,
    readAt: isRead(event.told) ? now : undefined,
    word: event.agrees ? undefined : record.word,
    ...(isNews && { othersGoByItUntil: undefined }),
  };
  return newsIn(record, event).reduce<ServerRecord>(
    (each, kind) => next(each, { kind }, now, thresholds),
    known,
  );
}

function isRead(told: SnapshotServer | undefined): boolean {
  if (told === undefined) return false;
  const { stale = false, unread = false, departedAt } = told;
  return !stale && !unread && departedAt === undefined;
}

type Told = Extract<ServerEvent, { kind: 'told' }>;
type News = 'departed' | 'returned' | 'lease changed' | 'read' | 'outdated';

function newsIn({ state, told: before, word, isVerified }: ServerRecord, { told, agrees }: Told): News[] {
  const isResolved = word !== undefined && agrees;
  if (told === undefined) return isResolved ? ['read'] : [];
  const { unread = false, stale = false, version, emulates, departedAt } = told;
  const news: News[] = [];
  if (departedAt !== undefined && state.kind !== 'departed') news.push('departed');
  if (departedAt === undefined && state.kind === 'departed') news.push('returned');
  // A server that has said what it is now is known by others since: the Lease says it later.
  if (unread && before?.unread !== true && word === undefined) news.push('lease changed');
  // The word of a server on itself goes first, where this router may ask the server.
  if (word !== undefined) return isResolved ? [...news, 'read'] : news;
  if (unread || before === undefined) return news;
  // The process that was asked and the process that was read may be two.
  const isOfAnotherVersion = version !== before.version || emulates !== before.emulates;
  if (isOfAnotherVersion && isVerified) news.push('outdated');
  // A reader that begins does not know that another process runs a server that it cannot read.
  else if ((before.unread === true || before.stale === true) && !stale) news.push('read');
  return news;
}

function afterEvent(
  record: ServerRecord,
  event: ServerEvent,
  now: Instant,
  thresholds: HealthThresholds,
): ServerRecord {
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
  if (outcome === 'unreachable' || outcome === 'refused' || outcome === 'not-connected') return 'unreachable';
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

/** Once a server has said otherwise than the snapshot, other routers may go by that: for ten seconds after it is as before. */
function untilOthersForget(
  { othersGoByItUntil }: ServerRecord,
  finding: Finding | undefined,
  outcome: Answered['outcome'],
  now: Instant,
): Instant | undefined {
  if (outcome === 'changed') return never;
  const isBack = othersGoByItUntil === never && finding === 'ready';
  return isBack ? now + countsAfter + versionSettlesFor : othersGoByItUntil;
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
      const othersGoByItUntil = untilOthersForget(record, finding, outcome, now);
      const known = {
        ...record,
        answer: { askedAt, outcome },
        hasShownReadiness,
        isVerified,
        othersGoByItUntil,
      };
      if (isSilent(known) || (othersGoByItUntil !== undefined && now < othersGoByItUntil)) return known;
      // The snapshot does not say what a server is that it does not have.
      return { ...known, confirmedAt: askedAt, ...(record.told === undefined ? {} : { provenAt: askedAt }) };
    }
    case 'connection lost':
      return { ...record, isVerified: false, ...(event.isRefused ? { silentAt: undefined } : {}) };
    case 'silent':
      return isDown(presentOf(record.state)) ? record : { ...record, silentAt: now };
    case 'stood still':
      return { ...record, isVerified: false, confirmedAt: undefined, provenAt: undefined };
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

/** True if the last probe had no response at all, not even a refused connection. */
export function isSilent({ answer }: ServerRecord): boolean {
  return answer?.outcome === 'unreachable' || answer?.outcome === 'not-connected';
}
