import type { KeySet } from '../../identity/jwt/key-set.ts';
import type { KeySource, LoadKeys } from '../../identity/jwt/key-source.ts';
import { TokenError } from '../../identity/jwt/token-error.ts';
import type { Logger } from '../../runtime/logger.ts';

export interface IsolateKeysOptions {
  /** Whose keys, for log lines. */
  readonly issuer: string;
  readonly load: LoadKeys;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
  readonly logger: Logger;
}

/** Milliseconds between two attempts, as `CachedKeys`. */
const coolDown = 30_000;
/** Milliseconds after which keys are due to be loaded again. */
const maximumAge = 600_000;
/** Loads under way at once. Enough to live through one that hangs, few enough to spare the issuer. */
const concurrentLoads = 3;
/** Milliseconds after which a load that has not ended is given up: its request was broken off. */
const abandonedAfter = 15_000;

/**
 * Keys of an issuer for a runtime on which work belongs to the request that began it. As `CachedKeys`, except that no
 * request waits for another one's load: what was begun by a request that is broken off never ends, and would leave all
 * others waiting. For the same reason only attempts that have ended count for the cool-down.
 */
export class IsolateKeys implements KeySource {
  readonly #options: Required<IsolateKeysOptions>;
  #keys: KeySet | undefined;
  #loadedAt = Number.NEGATIVE_INFINITY;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #begun: readonly number[] = [];

  constructor(options: IsolateKeysOptions) {
    this.#options = { clock: Date.now, ...options };
  }

  async current(): Promise<KeySet> {
    if (this.#keys === undefined) await this.refresh();
    if (this.#keys === undefined) {
      throw new TokenError(
        'KeysUnavailable',
        'cannot be checked: the keys of its issuer could not be loaded',
      );
    }
    return this.#keys;
  }

  async refresh(): Promise<void> {
    const now = this.#options.clock();
    this.#begun = this.#begun.filter((at) => now - at < abandonedAfter && now >= at);
    if (!hasPassed(coolDown, this.#attemptedAt, now) || this.#begun.length >= concurrentLoads) return;
    this.#begun = [...this.#begun, now];
    await this.#attempt();
    this.#begun = this.#begun.filter((at) => at !== now);
  }

  /** Loads keys anew when they are due, after a request. @returns what has to be kept alive until it ends. */
  renewal(): Promise<void> | undefined {
    const now = this.#options.clock();
    const isDue = this.#keys !== undefined && hasPassed(maximumAge, this.#loadedAt, now);
    return isDue ? this.refresh() : undefined;
  }

  async #attempt(): Promise<void> {
    const { issuer, load, clock, logger } = this.#options;
    try {
      this.#keys = await load();
      this.#loadedAt = clock();
    } catch (error) {
      const message =
        this.#keys === undefined
          ? 'The keys of a token issuer could not be loaded'
          : 'The keys of a token issuer could not be renewed: the known ones stay in use';
      logger.error({ issuer, err: error }, message);
    }
    this.#attemptedAt = clock();
  }
}

/** A clock that was set back counts as time passed: it must not stop the renewal of keys. */
function hasPassed(duration: number, since: number, now: number): boolean {
  return now - since >= duration || now < since;
}
