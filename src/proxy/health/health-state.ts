/** What one probe (`GET /readyz`) says of a server. */
export type ProbeOutcome =
  /** 200. */
  | 'ready'
  /** It answers, but not that question (401, 403, 404, 429): alive, and nothing is known against it. */
  | 'alive'
  /** 5xx: it runs and asks not to be used, as kube-apiserver does while it starts and shuts down. */
  | 'not-ready'
  /** No answer: refused, TLS failure, reset, or none in time. */
  | 'unreachable';

/** What is learnt of a server: a probe's outcome, or a request that found no connection to it. */
export type HealthSignal = ProbeOutcome | 'not-connected';

/** `unknown`: nothing has been heard of it yet. It is used like a healthy one. */
export type HealthStatus = 'unknown' | 'healthy' | 'unhealthy';

/** Why a server is unhealthy. */
export type UnhealthyCause = 'not-ready' | 'unreachable';

export interface HealthThresholds {
  /** Probes in a row that must succeed before an unhealthy server is healthy. At least 1. */
  readonly rise: number;
  /** Failures in a row that make a server unhealthy. At least 1. */
  readonly fall: number;
}

/** What is known of one server. Immutable; times are milliseconds of a clock that only rises. */
export interface HealthState {
  readonly status: HealthStatus;
  /** Why it is unhealthy, by the last failure; `undefined` otherwise. */
  readonly cause: UnhealthyCause | undefined;
  /** When `status` came about. */
  readonly since: number;
  /** When it recovered, if it was unhealthy before: where its slow start begins. */
  readonly recoveredAt: number | undefined;
  /** Probes in a row that succeeded. */
  readonly successes: number;
  /** Probes in a row that failed. */
  readonly failures: number;
  /** Requests in a row that found no connection. Apart from `failures`, since any answer ends this row. */
  readonly missedConnections: number;
}

/** A server that nothing has been heard of. */
export function initialHealth(now: number): HealthState {
  return {
    status: 'unknown',
    cause: undefined,
    since: now,
    recoveredAt: undefined,
    successes: 0,
    failures: 0,
    missedConnections: 0,
  };
}

/**
 * The state after `signal`. Rows of equal signals decide (HAProxy's `rise` and `fall`), so that a server that flaps
 * stays what it was, and no history keeps one down that has answered `rise` probes in a row.
 */
export function nextHealth(
  state: HealthState,
  signal: HealthSignal,
  thresholds: HealthThresholds,
  now: number,
): HealthState {
  if (signal === 'ready' || signal === 'alive') return afterSuccess(state, thresholds, now);
  const failed =
    signal === 'not-connected'
      ? { ...state, successes: 0, missedConnections: state.missedConnections + 1 }
      : { ...state, successes: 0, failures: state.failures + 1 };
  const cause: UnhealthyCause = signal === 'not-ready' ? 'not-ready' : 'unreachable';
  if (state.status === 'unhealthy') return { ...failed, cause };
  if (Math.max(failed.failures, failed.missedConnections) < thresholds.fall) return failed;
  return { ...failed, status: 'unhealthy', cause, since: now, recoveredAt: undefined };
}

function afterSuccess(state: HealthState, { rise }: HealthThresholds, now: number): HealthState {
  const successes = state.successes + 1;
  const better = { ...state, successes, failures: 0, missedConnections: 0 };
  if (state.status === 'healthy') return better;
  // The first thing that is heard of a server counts at once: there is no earlier word against it.
  if (state.status === 'unknown') return { ...better, status: 'healthy', since: now };
  if (successes < rise) return better;
  return { ...better, status: 'healthy', cause: undefined, since: now, recoveredAt: now };
}

/**
 * The state after a request was answered, whatever the code: 500 may be an admission webhook's, 503 and 429 another
 * server's or the wish for a pause, and none of it is news of the server itself. Only `/readyz` says that a server
 * is not to be used, so an answer does not contradict it either: a kube-apiserver that shuts down answers for a
 * while (`--shutdown-delay-duration`).
 */
export function healthAfterAnswer(state: HealthState): HealthState {
  return state.missedConnections === 0 ? state : { ...state, missedConnections: 0 };
}

/** Whether the next probe decides something, and should come sooner. */
export function isInDoubt(state: HealthState, { rise }: HealthThresholds): boolean {
  return (
    state.status === 'unhealthy' ||
    state.failures > 0 ||
    state.missedConnections > 0 ||
    state.successes < rise
  );
}

/** A recovered server begins with this share of its part, so that it is tried at all. */
const smallestWeight = 0.1;

/**
 * Share of its part that a server gets, in (0, 1]: it grows in proportion to the time since it recovered. Caches and
 * connections of a server that has just started are cold, and it would otherwise get all that the others have.
 * @param slowStart milliseconds until it has its whole part; 0: at once.
 */
export function slowStartWeight({ recoveredAt }: HealthState, slowStart: number, now: number): number {
  if (recoveredAt === undefined) return 1;
  const elapsed = now - recoveredAt;
  // A clock that was set back must not hold a server down for as long as it was set back.
  if (elapsed < 0 || elapsed >= slowStart) return 1;
  return Math.max(smallestWeight, elapsed / slowStart);
}
