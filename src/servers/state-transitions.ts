import {
  type HealthThresholds,
  type Instant,
  type Loss,
  lossOf,
  type PresentState,
  type Ready,
  type Restarting,
  type ServerEvent,
  type ServerRecord,
  type ServerState,
  type Suspect,
  startDuration,
  startOf,
  type Unreachable,
  type Unready,
  type Untried,
  type Unverified,
} from './server-states.ts';

/** The meaning of a probe's outcome, by what is known. `stale`: the probe has asked the process of before. */
export type Finding = 'ready' | 'changed' | 'alive' | 'not-ready' | 'unreachable' | 'stale';

export interface Turn {
  readonly event: ServerEvent;
  /** The finding of the event `answered`. */
  readonly finding: Finding | undefined;
  readonly record: Omit<ServerRecord, 'state'>;
  readonly now: Instant;
  readonly thresholds: HealthThresholds;
}

/** The switch over the state: one function for each. @returns the same state where the event changes nothing */
export function nextState(state: ServerState, turn: Turn): ServerState {
  const { event, now } = turn;
  if (state.kind !== 'departed') {
    return event.kind === 'departed'
      ? { kind: 'departed', since: now, present: state }
      : nextPresent(state, turn);
  }
  if (event.kind === 'returned') return state.present;
  const present = nextPresent(state.present, turn);
  return present === state.present ? state : { ...state, present };
}

function nextPresent(state: PresentState, turn: Turn): PresentState {
  switch (state.kind) {
    case 'untried':
      return fromUntried(state, turn);
    case 'ready':
      return fromReady(state, turn);
    case 'suspect':
      return fromSuspect(state, turn);
    case 'unready':
    case 'unreachable':
      return fromDown(state, turn);
    case 'restarting':
      return fromRestarting(state, turn);
    case 'unverified':
      return fromUnverified(state, turn);
  }
}

function fromUntried(state: Untried, turn: Turn): PresentState {
  const { event, finding } = turn;
  const { loss } = state;
  if (loss !== undefined && event.kind === 'connection lost')
    return { ...state, loss: lostAgain(loss, turn) };
  if (loss === undefined && event.kind === 'no response') return doubted(state, turn);
  if (loss === undefined && event.kind === 'GOAWAY') return doubted(state, turn);
  switch (finding) {
    case undefined:
      return afterNews(state, turn);
    case 'stale':
      return state;
    // The first thing that is heard of a server counts at once: there is no earlier word against it.
    case 'ready':
    case 'alive':
      return { kind: 'ready', since: turn.now, successes: 1 };
    case 'changed':
      return unverifiedByItsWord(loss, turn, loss === undefined ? 'SaysOtherwise' : 'SnapshotOutdated');
    case 'not-ready':
    case 'unreachable': {
      if (loss !== undefined) return afterFailedTry(loss, 1, finding, turn);
      // The /readyz of a server that refuses everybody says nothing.
      const isStarting = finding === 'not-ready' && isRefusing(turn);
      return isStarting
        ? afterFailedTry(newLoss(turn.now), 1, finding, turn)
        : afterFailure(state, finding, turn);
    }
  }
}

function fromReady(state: Ready, turn: Turn): PresentState {
  const { event, finding, thresholds } = turn;
  if (event.kind === 'no response' || event.kind === 'GOAWAY') return doubted(state, turn);
  switch (finding) {
    case undefined:
      return afterNews(state, turn);
    case 'stale':
      return state;
    case 'ready':
    case 'alive':
      return state.successes >= thresholds.rise ? state : { ...state, successes: state.successes + 1 };
    case 'changed':
      return unverifiedByItsWord(undefined, turn);
    case 'not-ready':
    case 'unreachable':
      return afterFailure({ failures: 0 }, finding, turn);
  }
}

function fromSuspect(state: Suspect, turn: Turn): PresentState {
  const { event, finding, now } = turn;
  if (event.kind === 'no response' || event.kind === 'GOAWAY') return doubted(state, turn);
  if (event.kind === 'read' && state.reason === 'NotVerified')
    return { kind: 'ready', since: now, successes: 1 };
  switch (finding) {
    case undefined:
      return afterNews(state, turn);
    case 'stale':
      return state;
    case 'ready':
    case 'alive':
      return { kind: 'ready', since: now, successes: 1 };
    case 'changed':
      return state.reason === 'NotVerified' ? usedAllTheSame(now) : unverifiedByItsWord(undefined, turn);
    case 'not-ready':
      // A server that broke off and then says that it is not ready was restarted in the meantime.
      return isAnswerToDoubt(state, turn)
        ? afterFailedTry(newLoss(now), 1, finding, turn)
        : afterFailure(state, finding, turn);
    case 'unreachable':
      return afterFailure(state, finding, turn);
  }
}

function fromDown(state: Unready | Unreachable, turn: Turn): PresentState {
  const { event, finding, now, thresholds } = turn;
  const { loss } = state;
  if (loss !== undefined && event.kind === 'connection lost')
    return { ...state, loss: lostAgain(loss, turn), isHeld: true };
  if (event.kind === 'time' && loss !== undefined && now >= loss.at + startDuration)
    return { ...state, isHeld: false };
  switch (finding) {
    case undefined:
      return afterNews(state, turn);
    case 'stale':
      return state;
    case 'ready':
    case 'alive': {
      const successes = state.successes + 1;
      if (successes >= thresholds.rise) return { kind: 'ready', since: now, successes };
      return { ...state, successes, loss: undefined, isHeld: false };
    }
    case 'changed':
      return unverifiedByItsWord(loss, turn);
    case 'not-ready':
    case 'unreachable': {
      const left = loss && afterAnswer(loss, turn);
      const isSame = (finding === 'not-ready') === (state.kind === 'unready');
      // A server that was away and says that it is not ready has been started now.
      return down(finding, isSame ? state.since : now, now, left);
    }
  }
}

function fromRestarting(state: Restarting, turn: Turn): PresentState {
  const { event, finding, now } = turn;
  const { loss, reason, failures } = state;
  if (event.kind === 'connection lost') return { ...state, loss: lostAgain(loss, turn) };
  if (event.kind === 'time' && now >= startOf(loss) + startDuration)
    return down(reason === 'NotReady' ? 'not-ready' : 'unreachable', loss.since, now, loss);
  switch (finding) {
    case undefined:
      return afterNews(state, turn);
    case 'stale':
      return state;
    case 'ready':
    case 'alive':
      return { kind: 'ready', since: now, successes: 1 };
    case 'changed':
      return unverifiedByItsWord(loss, turn);
    case 'not-ready':
    case 'unreachable':
      return afterFailedTry(loss, failures + 1, finding, turn);
  }
}

function fromUnverified(state: Unverified, turn: Turn): PresentState {
  const { event, finding, now } = turn;
  const { loss } = state;
  if (event.kind === 'read') return { kind: 'ready', since: now, successes: 1 };
  if (event.kind === 'time' && now >= loss.at + startDuration) return usedAllTheSame(now);
  if (event.kind === 'connection lost')
    // A second loss does not prove a restart, and the server was ready: nothing waits.
    return afterFailedTry(lostAgain(loss, turn), 0, 'unreachable', turn);
  switch (finding) {
    case undefined:
      return afterNews(state, turn);
    case 'ready':
      return { kind: 'ready', since: now, successes: 1 };
    // A server that this router may not ask (a gateway without a pair, servers without anonymous callers) never says of itself
    // what it serves: the snapshot does.
    case 'stale':
    case 'alive':
    case 'changed':
      return state;
    case 'not-ready':
    case 'unreachable':
      return afterFailedTry(loss, 1, finding, turn);
  }
}

/** The events that mean the same in every state in which they have no meaning of their own. */
function afterNews(state: PresentState, { event, now, thresholds }: Turn): PresentState {
  const loss = lossOf(state);
  switch (event.kind) {
    case 'connection lost':
      // A loss is no better news of a server that was down before.
      return restarting(
        'ConnectionLost',
        newLoss(now, event.isRefused),
        isAsked(state) ? 0 : thresholds.fall,
        false,
      );
    case 'lease changed':
      return leaseChanged(loss, now);
    case 'outdated':
    case 'stood still':
      return outdated(loss, now);
    case 'silent':
      return isAsked(state) ? down('unreachable', now, now) : state;
    default:
      return state;
  }
}

function isAsked({ kind }: PresentState): boolean {
  return kind === 'untried' || kind === 'ready' || kind === 'suspect';
}

/** Requests wait where the server has not been verified since, which it never is where this router may not ask. */
function doubted(state: Untried | Ready | Suspect, { event, record, now }: Turn): Suspect {
  const isGoAway = event.kind === 'GOAWAY';
  const reason = isGoAway ? 'GoAway' : 'NoResponse';
  return {
    kind: 'suspect',
    reason: state.kind === 'suspect' && state.reason === 'NotVerified' ? state.reason : reason,
    since: state.kind === 'suspect' ? state.since : now,
    failures: state.kind === 'ready' ? 0 : state.failures,
    doubtedAt: now,
    isAwaited: !record.isVerified,
  };
}

/** The sync job may be down: nobody is left out for good. */
function usedAllTheSame(now: Instant): Suspect {
  return { kind: 'suspect', reason: 'NotVerified', since: now, failures: 0, isAwaited: false };
}

function isAnswerToDoubt({ doubtedAt }: Suspect, { event }: Turn): boolean {
  return event.kind === 'answered' && doubtedAt !== undefined && doubtedAt <= event.askedAt;
}

function isRefusing({ event }: Turn): boolean {
  return event.kind === 'answered' && event.outcome === 'refusing';
}

/** A failed probe of a server that nothing was held against. */
function afterFailure(
  state: Untried | Suspect | { readonly kind?: undefined; readonly failures: number },
  finding: 'not-ready' | 'unreachable',
  turn: Turn,
): PresentState {
  const { now, thresholds } = turn;
  const failures = state.failures + 1;
  if (failures >= thresholds.fall) return down(finding, now, now);
  if (state.kind === 'untried') return { ...state, failures };
  const since = state.kind === 'suspect' ? state.since : now;
  const isDoubtLeft =
    state.kind === 'suspect' && state.doubtedAt !== undefined && !isAnswerToDoubt(state, turn);
  if (isDoubtLeft) return { ...state, failures };
  return { kind: 'suspect', reason: 'ProbeFailed', since, failures, isAwaited: false };
}

/** A failed probe of a server that was lost. A server that has never been ready since this router started does not restart. */
function afterFailedTry(
  loss: Loss,
  failures: number,
  finding: 'not-ready' | 'unreachable',
  turn: Turn,
): PresentState {
  const { record, now } = turn;
  const known = afterAnswer(loss, turn);
  const isStarting = record.hasShownReadiness && now < startOf(known) + startDuration;
  return isStarting
    ? restarting(finding === 'not-ready' ? 'NotReady' : 'NoResponse', known, failures, true)
    : down(finding, known.since, now, known);
}

function afterAnswer(loss: Loss, { event }: Turn): Loss {
  const isNotReady = event.kind === 'answered' && event.outcome === 'not-ready';
  return isNotReady ? { ...loss, notReadyAt: event.askedAt } : loss;
}

function down(
  finding: 'not-ready' | 'unreachable',
  since: Instant,
  now: Instant,
  loss?: Loss,
): Unready | Unreachable {
  const isHeld = loss !== undefined && now < loss.at + startDuration;
  return { kind: finding === 'not-ready' ? 'unready' : 'unreachable', since, successes: 0, loss, isHeld };
}

function restarting(
  reason: Restarting['reason'],
  loss: Loss,
  failures: number,
  isTried: boolean,
): Restarting {
  return { kind: 'restarting', reason, since: loss.since, loss, isTried, failures };
}

function newLoss(now: Instant, isGone = false): Loss {
  return { since: now, at: now, isGone, notReadyAt: now };
}

function lostAgain(loss: Loss, { event, now }: Turn): Loss {
  const isRefused = event.kind === 'connection lost' && event.isRefused;
  return isRefused ? { ...loss, at: now, isGone: true, notReadyAt: now } : { ...loss, at: now };
}

/** Other routers may know for long what it is, and go by it. */
export function outdated(loss: Loss | undefined, now: Instant): Untried {
  const unheard = { ...(loss ?? newLoss(now)), at: now, notReadyAt: Number.NEGATIVE_INFINITY };
  return { kind: 'untried', reason: 'KnowledgeOutdated', since: now, failures: 0, loss: unheard };
}

/** The first word of all may be late: what the snapshot says may be from long before this router was started. */
function unverifiedByItsWord(
  loss: Loss | undefined,
  { now }: Turn,
  reason: Unverified['reason'] = 'SaysOtherwise',
): Unverified {
  const unheard = { since: now, isGone: false, notReadyAt: Number.NEGATIVE_INFINITY };
  // However long the server was away: from now on the snapshot has a minute to say what the server is.
  return { kind: 'unverified', reason, since: now, loss: { ...(loss ?? unheard), at: now } };
}

function leaseChanged(loss: Loss | undefined, now: Instant): Unverified {
  const changed = { ...(loss ?? newLoss(now)), at: now, changedHandsAt: now, isGone: true };
  return { kind: 'unverified', reason: 'LeaseChanged', since: now, loss: changed };
}
