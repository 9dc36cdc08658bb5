import { setTimeout as sleep } from 'node:timers/promises';
import { durationText } from '../../src/runtime/duration-text.ts';
import type { Action } from './keys.ts';
import type { UpgradableServer } from './upgradable-server.ts';
import { to } from './versions.ts';

/** Milliseconds that a server is gone for an upgrade; a kube-apiserver takes longer. */
const downTime = 2_500;

export interface RollingUpgradeOptions {
  readonly servers: readonly UpgradableServer[];
  /** Milliseconds between two upgrades. */
  readonly interval: number;
  /** Told of what happens. */
  readonly tell: (text: string) => void;
  /** Ends what waits. */
  readonly signal: AbortSignal;
}

/** Upgrades server after server, by itself until somebody takes over, and stops and starts servers. */
export class RollingUpgrade {
  readonly #options: RollingUpgradeOptions;
  /** One step at a time. */
  #steps: Promise<void> = Promise.resolve();
  #isAutomatic = true;
  #nextAt = 0;

  constructor(options: RollingUpgradeOptions) {
    this.#options = options;
  }

  get isDone(): boolean {
    return this.#next() === undefined;
  }

  /** Text that is shown of the next step. */
  next(now: number): string {
    if (this.isDone) return 'Every server is upgraded.';
    if (!this.#isAutomatic) return `${this.#next()?.name} is the next to be upgraded.`;
    const left = durationText(Math.ceil((this.#nextAt - now) / 1000) * 1000);
    return `${this.#next()?.name} is upgraded in ${left}, unless you press a key.`;
  }

  /** Upgrades one server each interval; resolves when all are, somebody has taken over, or the signal has aborted. */
  async runByItself(): Promise<void> {
    const { interval, signal } = this.#options;
    while (this.#isAutomatic && !signal.aborted && !this.isDone) {
      this.#nextAt = performance.now() + interval;
      await sleep(interval, undefined, { signal }).catch(() => undefined);
      if (this.#isAutomatic && !signal.aborted) await this.#queue(() => this.#upgradeNext());
    }
  }

  /** Does what a key asks for, after what is being done; from now on nothing happens by itself. */
  act(action: Exclude<Action, { readonly kind: 'leave' | 'explain' }>): Promise<void> {
    this.#isAutomatic = false;
    return this.#queue(() => (action.kind === 'upgrade' ? this.#upgradeNext() : this.#toggle(action.server)));
  }

  /** Resolves when nothing is being done. */
  async settled(): Promise<void> {
    await this.#steps;
  }

  #queue(step: () => Promise<void>): Promise<void> {
    this.#steps = this.#steps.then(async () => {
      if (!this.#options.signal.aborted) await step();
    });
    return this.#steps;
  }

  #next(): UpgradableServer | undefined {
    return this.#options.servers.find(({ version }) => version !== to);
  }

  async #upgradeNext(): Promise<void> {
    const { tell, signal } = this.#options;
    const server = this.#next();
    if (server === undefined) {
      tell('every server is upgraded already');
      return;
    }
    if (server.running !== undefined) {
      tell(`${server.name} stops, to be upgraded`);
      await server.close();
      await sleep(downTime, undefined, { signal }).catch(() => undefined);
    }
    if (signal.aborted) return;
    await server.start(to);
    tell(`${server.name} is up with ${to}`);
  }

  async #toggle(index: number): Promise<void> {
    const server = this.#options.servers[index];
    if (server === undefined) return;
    const { tell } = this.#options;
    if (server.running === undefined) {
      await server.start(server.version);
      tell(`${server.name} is up again`);
    } else {
      tell(`${server.name} stops`);
      await server.close();
    }
  }
}
