import type { RequestInfo } from '../../apimachinery/request-info.ts';
import type {
  AttemptFailure,
  DropReason,
  RequestObserver,
  RequestRecord,
} from '../../request/request-record.ts';
import type { Decision, DecisionReason } from '../../routing/decision.ts';

export interface RecentDecision {
  /** When it was responded to, or the client went away: milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** As it stood on the wire, without its query; cut where it could hold a secret or is too long to be shown. */
  readonly path: string;
  readonly decision: Decision['decision'];
  readonly reason: DecisionReason;
  /** ID of the server that was asked last; `undefined`: none was. */
  readonly destination: string | undefined;
  readonly attempts: number;
  /** Why the last of them did not respond, or why the router turned the request away. */
  readonly failure: AttemptFailure | DropReason | undefined;
  /** Code of the client's response; `undefined`: the client went away before there was one. */
  readonly status: number | undefined;
}

interface RecentDecisionsOptions {
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
  /** Milliseconds of a clock that only rises. Default `performance.now`. */
  readonly monotonicClock?: () => number;
}

/** Kept of each of the two kinds. */
const keptOfEachKind = 50;
/** Taken in a second at most; a busy router would otherwise show nothing but its last millisecond. */
const localPerSecond = 5;
const othersPerSecond = 20;

/**
 * A sample of the last decisions, so that it costs next to nothing under load. Decisions for the local server, which nearly
 * all are, have a place of their own. Nothing of who calls is kept, and nothing of queries.
 */
export class RecentDecisions implements RequestObserver {
  readonly #local: Sample;
  readonly #others: Sample;
  readonly #clock: () => number;

  constructor({ clock = Date.now, monotonicClock = () => performance.now() }: RecentDecisionsOptions = {}) {
    this.#local = new Sample(localPerSecond, monotonicClock);
    this.#others = new Sample(othersPerSecond, monotonicClock);
    this.#clock = clock;
  }

  responded(record: RequestRecord): void {
    this.#take(record);
  }

  finished(record: RequestRecord): void {
    if (record.respondedAt === undefined) this.#take(record);
  }

  #take({ inbound, requestInfo, decision, attempts, dropped, status }: RequestRecord): void {
    if (decision === undefined) return;
    const sample = decision.decision === 'local' ? this.#local : this.#others;
    if (!sample.hasRoom()) return;
    const last = attempts.at(-1);
    sample.keep({
      at: this.#clock(),
      method: inbound.method,
      path: loggablePath(inbound.target, requestInfo),
      decision: decision.decision,
      reason: decision.reason,
      destination: last?.destination.id,
      attempts: attempts.length,
      failure: dropped ?? last?.failure,
      status: status === 0 ? undefined : status,
    });
  }

  list(): readonly RecentDecision[] {
    return [...this.#local.kept(), ...this.#others.kept()].sort((left, right) => right.at - left.at);
  }
}

class Sample {
  readonly #perSecond: number;
  readonly #monotonicClock: () => number;
  readonly #kept: RecentDecision[] = [];
  #next = 0;
  #second = -1;
  #taken = 0;

  constructor(perSecond: number, monotonicClock: () => number) {
    this.#perSecond = perSecond;
    this.#monotonicClock = monotonicClock;
  }

  hasRoom(): boolean {
    const second = Math.floor(this.#monotonicClock() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#taken = 0;
    }
    this.#taken += 1;
    return this.#taken <= this.#perSecond;
  }

  keep(decision: RecentDecision): void {
    this.#kept[this.#next] = decision;
    this.#next = (this.#next + 1) % keptOfEachKind;
  }

  kept(): readonly RecentDecision[] {
    return [...this.#kept.slice(this.#next), ...this.#kept.slice(0, this.#next)].reverse();
  }
}

const longest = 200;

/**
 * A request's path as it may be shown: undecoded, without its query, which can hold tokens and the commands of
 * `kubectl exec`. What a proxied application is asked (`…/proxy/…`) is that application's own, and can hold secrets
 * as well (links to reset a password): it is left out. Pure.
 */
export function loggablePath(
  target: string,
  requestInfo: Pick<RequestInfo, 'verb' | 'subresource'> | undefined,
): string {
  const questionMark = target.indexOf('?');
  const path = questionMark === -1 ? target : target.slice(0, questionMark);
  const shown = isProxied(requestInfo) ? withoutProxiedPath(path) : path;
  return shown.length > longest ? `${shown.slice(0, longest)}…` : shown;
}

/** `verb` is `proxy` for the old form of these paths, `/api/v1/proxy/…` (pkg/endpoints/request/requestinfo.go). */
function isProxied(requestInfo: Pick<RequestInfo, 'verb' | 'subresource'> | undefined): boolean {
  return requestInfo?.subresource === 'proxy' || requestInfo?.verb === 'proxy';
}

function withoutProxiedPath(path: string): string {
  const begin = /^.*?\/proxy(?=\/)/.exec(path)?.[0];
  if (begin !== undefined) return `${begin}/…`;
  // Spelled with an escape, or with nothing after it.
  return path.endsWith('/proxy') ? path : '/…';
}
