import { pause } from './time.ts';

/** Milliseconds between two looks of who waits. */
const lookEvery = 10;
/** Milliseconds. On Workers a request that is cancelled ends nothing: whoever waits for its work does the work then. */
const longestFlight = 10_000;

interface Flight<Result> {
  readonly until: number;
  ended: boolean;
  result: { readonly value: Result } | undefined;
}

/**
 * Asynchronous work that several want at the same time, done once: the first does it, the others take its result. No promise is
 * shared, as on Workers a promise belongs to the request that made it (decisions/0008-worker-modules.md): whoever waits
 * looks by timers of their own. What can be cut into steps is better done as `SharedWork`.
 */
export class SharedFlights<Result> {
  readonly #flights = new Map<string, Flight<Result>>();

  /**
   * @param key of all that the result depends on
   * @param work not called when another caller's work with this key is under way and ends well
   * @throws what `work` throws; others that waited for it do the work themselves then
   */
  async once(key: string, work: () => Promise<Result>): Promise<Result> {
    for (let other = this.#underWay(key); other !== undefined; other = this.#underWay(key)) {
      while (!other.ended && performance.now() < other.until) await pause(lookEvery);
      if (other.result !== undefined) return other.result.value;
    }
    const flight: Flight<Result> = {
      until: performance.now() + longestFlight,
      ended: false,
      result: undefined,
    };
    this.#flights.set(key, flight);
    try {
      const value = await work();
      flight.result = { value };
      return value;
    } finally {
      flight.ended = true;
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    }
  }

  #underWay(key: string): Flight<Result> | undefined {
    const flight = this.#flights.get(key);
    if (flight === undefined || performance.now() < flight.until) return flight;
    this.#flights.delete(key);
    return undefined;
  }
}
