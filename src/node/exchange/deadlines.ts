import { monotonicNow } from '../../runtime/time.ts';

export interface Expiring {
  expire(): void;
}

const granularity = 1_000;
/** Checks within one time-out at least. */
const checksPerTimeout = 10;

interface DeadlinesOptions {
  /** Milliseconds. */
  readonly timeout: number;
  /**
   * Milliseconds of a monotonic clock: with a wall clock that is set, all requests would end at once, or none. Default
   * `performance.now`.
   */
  readonly clock?: () => number;
  readonly onExpired?: (requests: number) => void;
  readonly onFailed?: (error: unknown) => void;
}

/**
 * The deadlines of all that have the same time-out, in one table with one timer. Each ends at most two checks late, and
 * never early. A timer each costs a lone request most: Node makes and drops a list of timers for it.
 *
 * Arrays, not a `Set` or a `Map`: V8 copies their entries to a new table every few additions, and the old table refers to
 * the new one. Once one is in the old generation, it keeps all later ones alive, with every request that was in them
 * (lab/bench/README.md).
 */
export class Deadlines {
  readonly timeout: number;
  readonly #granularity: number;
  readonly #ticks: number;
  readonly #clock: () => number;
  readonly #onExpired: (requests: number) => void;
  readonly #onFailed: (error: unknown) => void;
  readonly #requests: (Expiring | undefined)[] = [];
  /** The tick at which the request in the same place ends. */
  readonly #over: number[] = [];
  readonly #free: number[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(options: DeadlinesOptions) {
    const { timeout, clock = monotonicNow, onExpired = () => {}, onFailed = () => {} } = options;
    this.timeout = timeout;
    this.#granularity = Math.min(granularity, timeout / checksPerTimeout);
    this.#ticks = Math.ceil(timeout / this.#granularity) + 1;
    this.#clock = clock;
    this.#onExpired = onExpired;
    this.#onFailed = onFailed;
    this.#timer = setInterval(() => this.check(), this.#granularity).unref();
  }

  /** @returns its place, for `remove` and `restart` */
  add(request: Expiring): number {
    const place = this.#free.pop() ?? this.#requests.length;
    this.#requests[place] = request;
    this.restart(place);
    return place;
  }

  restart(place: number): void {
    this.#over[place] = this.#tick() + this.#ticks;
  }

  remove(request: Expiring, place: number): void {
    if (this.#requests[place] !== request) return;
    this.#requests[place] = undefined;
    this.#free.push(place);
  }

  #tick(): number {
    return Math.floor(this.#clock() / this.#granularity);
  }

  check(): void {
    const now = this.#tick();
    const due: Expiring[] = [];
    for (const [place, request] of this.#requests.entries()) {
      if (request === undefined || (this.#over[place] as number) > now) continue;
      this.remove(request, place);
      due.push(request);
    }
    if (due.length === 0) return;
    for (const request of due) this.#end(request);
    this.#onExpired(due.length);
  }

  /** An error thrown in the timer would end the process. */
  #end(request: Expiring): void {
    try {
      request.expire();
    } catch (error) {
      this.#onFailed(error);
    }
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#requests.length = 0;
    this.#free.length = 0;
  }
}
