import type { Destination } from '../request/destination.ts';
import type { Clock } from '../runtime/time.ts';
import { confirmedWithin } from '../snapshot/routing-table/version-instants.ts';
import { provenAt } from './confirmations.ts';
import type { ServerBook } from './server-book.ts';
import { isInDoubt, mayBeReadySoon } from './server-standing.ts';
import type { ProbeOutcome } from './server-states.ts';

interface HealthMonitorOptions {
  readonly health: ServerBook;
  /** Asks one server. Never rejects; ends when `signal` aborts. */
  readonly probe: (destination: Destination, signal: AbortSignal) => Promise<ProbeOutcome>;
  /** Milliseconds between two probes of a server that is healthy. */
  readonly interval: number;
  /**
   * True if every server is probed as often as one in doubt, and several times within `confirmedWithin`: writes wait for a
   * confirmation that is not older, whatever the interval. Default: none is.
   */
  readonly isUrgent?: (() => boolean) | undefined;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep' | 'random'>;
}

/** A server that is unhealthy or in doubt is probed so many times as often (HAProxy's `fastinter`). */
const hastePerInterval = 5;
/** Milliseconds while it is worth waiting for: it was lost a short while ago, or starts, and what it serves is not known. */
const whenLost = 100;
/** A pause is up to this share shorter or longer, so that the probes of many routers do not fall together. */
const jitter = 0.1;

interface Followed {
  readonly destination: Destination;
  readonly ending: AbortController;
  pause: AbortController;
}

/** By a clock that only rises: setting the wall clock neither stops the probes nor makes them come in a burst. */
export class HealthMonitor {
  readonly #options: HealthMonitorOptions;
  readonly #followed = new Map<string, Followed>();
  readonly #endObserving: () => void;

  constructor(options: HealthMonitorOptions) {
    this.#options = options;
    this.#endObserving = options.health.observe({
      doubted: (id) => this.#followed.get(id)?.pause.abort(),
    });
  }

  /**
   * Follows exactly these servers from now on. One whose address or name has changed is another server, of which nothing is
   * known.
   * @param isStored whether what is known of one is of an earlier run
   */
  follow(destinations: readonly Destination[], isStored: (id: string) => boolean = () => false): void {
    const wanted = new Map(destinations.map((destination) => [destination.id, destination]));
    const { records } = this.#options.health;
    const proven = new Map(destinations.map(({ id, origin }) => [id, provenAt(records, id, origin)]));
    for (const [id, { destination }] of this.#followed) {
      const next = wanted.get(id);
      if (next !== undefined && isSameServer(next, destination)) wanted.delete(id);
      else this.#unfollow(id);
    }
    for (const [id, destination] of wanted) {
      this.#options.health.follow(id, isStored(id), { destination, provenAt: proven.get(id) });
      const followed = { destination, ending: new AbortController(), pause: new AbortController() };
      this.#followed.set(id, followed);
      void this.#watch(followed);
    }
  }

  /** Probes all of them as soon as one in doubt would be. */
  hurry(): void {
    for (const { pause } of this.#followed.values()) pause.abort();
  }

  stop(): void {
    this.#endObserving();
    for (const id of [...this.#followed.keys()]) this.#unfollow(id);
  }

  #unfollow(id: string): void {
    const followed = this.#followed.get(id);
    this.#followed.delete(id);
    this.#options.health.unfollow(id);
    followed?.ending.abort();
    followed?.pause.abort();
  }

  async #watch(followed: Followed): Promise<void> {
    const { health, probe, clock } = this.#options;
    const { destination, ending } = followed;
    while (!ending.signal.aborted) {
      const begun = clock.monotonic();
      health.probing(destination.id);
      const outcome = await probe(destination, ending.signal);
      // The answer of a server that is not observed any more says nothing of its successor.
      if (ending.signal.aborted) return;
      health.probed(destination.id, outcome);
      await this.#rest(followed, begun);
    }
  }

  async #rest(followed: Followed, begun: number): Promise<void> {
    const { health, clock, interval, isUrgent } = this.#options;
    const spread = 1 - jitter + 2 * jitter * clock.random();
    const { id } = followed.destination;
    const isToBeConfirmed = isUrgent?.() === true;
    const hasty = Math.min(interval / hastePerInterval, isToBeConfirmed ? confirmedWithin / 4 : interval);
    const least = () => (health.is(id, mayBeReadySoon) ? Math.min(whenLost, hasty) : hasty) * spread;
    let due = health.is(id, isInDoubt) || isToBeConfirmed ? least() : interval * spread;
    while (!followed.ending.signal.aborted) {
      const left = due - (clock.monotonic() - begun);
      if (left <= 0) return;
      followed.pause = new AbortController();
      await clock.sleep(left, followed.pause.signal);
      if (followed.pause.signal.aborted) due = Math.min(due, least());
    }
  }
}

function isSameServer(one: Destination, other: Destination): boolean {
  return one.kind === other.kind && one.origin === other.origin && one.serverName === other.serverName;
}
