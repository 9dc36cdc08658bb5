import type { DecisionReason } from '../../routing/decision.ts';

export const keptMinutes = 60;
/** Servers by version that are told apart in a minute. Further ones are counted together, as no server's. */
const serversOfMinute = 128;
const furtherServers = 'further servers';

export interface ServerMinute {
  /** Empty: the router responded itself. */
  readonly id: string;
  readonly version: string | undefined;
  requests: number;
  refused: number;
  failed: number;
}

export interface Minute {
  /** Minutes since the epoch. */
  readonly number: number;
  readonly servers: ServerMinute[];
  /** Requests that did not go to the local server, by reason. */
  readonly reasons: Map<DecisionReason, number>;
}

/** Bounded; a request costs one look-up and a few additions. */
export class MinuteRing {
  readonly #minutes: (Minute | undefined)[] = new Array(keptMinutes);
  #current: Minute | undefined;
  /** Slots of the current minute, by server. Begun anew when versions may have changed. */
  readonly #slots = new Map<string, ServerMinute>();

  versionsChanged(): void {
    this.#slots.clear();
  }

  /** @param reroutedFor why it did not go to the local server; left out: it did */
  responded(
    now: number,
    id: string,
    versionOf: (id: string) => string | undefined,
    status: number,
    reroutedFor?: DecisionReason,
  ): void {
    const minute = this.#minuteOf(now);
    const slot = this.#slots.get(id) ?? this.#newSlot(minute, id, versionOf(id));
    slot.requests += 1;
    if (status >= 500) slot.failed += 1;
    else if (status === 429) slot.refused += 1;
    if (reroutedFor === undefined) return;
    minute.reasons.set(reroutedFor, (minute.reasons.get(reroutedFor) ?? 0) + 1);
  }

  /** The oldest first; minutes without requests are left out. */
  kept(now: number): readonly Minute[] {
    const first = minuteNumber(now) - keptMinutes + 1;
    return this.#minutes
      .filter((minute) => minute !== undefined)
      .filter(({ number }) => number >= first && number <= minuteNumber(now))
      .sort((left, right) => left.number - right.number);
  }

  #minuteOf(now: number): Minute {
    const number = minuteNumber(now);
    if (this.#current?.number === number) return this.#current;
    const minute: Minute = { number, servers: [], reasons: new Map() };
    this.#slots.clear();
    this.#current = minute;
    this.#minutes[number % keptMinutes] = minute;
    return minute;
  }

  #newSlot(minute: Minute, id: string, version: string | undefined): ServerMinute {
    const { servers } = minute;
    const of = (each: string, its: string | undefined) =>
      servers.find((other) => other.id === each && other.version === its);
    const isFull = servers.length >= serversOfMinute;
    let slot = of(id, version) ?? (isFull ? of(furtherServers, undefined) : undefined);
    if (slot === undefined) {
      const named = isFull ? { id: furtherServers, version: undefined } : { id, version };
      slot = { ...named, requests: 0, refused: 0, failed: 0 };
      servers.push(slot);
    }
    this.#slots.set(id, slot);
    return slot;
  }
}

export function minuteNumber(now: number): number {
  return Math.floor(now / 60_000);
}
