import type { ProbeOutcome } from '../../health/health-state.ts';
import type { HealthObserver, ServerHealth } from '../../health/server-health.ts';

/** What the last probe of a server said. */
export interface LastProbe {
  readonly outcome: ProbeOutcome;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Milliseconds that it took. */
  readonly milliseconds: number;
}

/** Keeps the last probe of each server whose health is followed, to be shown. */
export class LastProbes implements HealthObserver {
  readonly #probes = new Map<string, LastProbe>();
  readonly #health: Pick<ServerHealth, 'report'>;
  readonly #clock: () => number;

  /** @param clock milliseconds since the epoch */
  constructor(health: Pick<ServerHealth, 'report'>, clock: () => number) {
    this.#health = health;
    this.#clock = clock;
  }

  probed(id: string, outcome: ProbeOutcome, milliseconds: number): void {
    // A server that is new here has often taken the place of one that is gone.
    if (!this.#probes.has(id)) this.#forgetOthers();
    this.#probes.set(id, { outcome, at: this.#clock(), milliseconds });
  }

  /** `undefined`: it has not been probed, or is not followed any more. */
  of(id: string): LastProbe | undefined {
    return this.#health.report(id) === undefined ? undefined : this.#probes.get(id);
  }

  #forgetOthers(): void {
    for (const id of this.#probes.keys()) {
      if (this.#health.report(id) === undefined) this.#probes.delete(id);
    }
  }
}
