import { type Logger, silentLogger } from '../../runtime/logger.ts';
import type { KeySet } from './key-set.ts';
import type { KeySource, LoadKeys } from './key-source.ts';
import { TokenError } from './token-error.ts';

export interface CachedKeysOptions {
  /** Whose keys, for log lines. */
  readonly issuer: string;
  readonly load: LoadKeys;
  /**
   * Milliseconds between two attempts to load, successful or not: no client can make this router ask an issuer more
   * often by sending tokens with made-up key IDs. Default 30,000, as jose has it.
   */
  readonly coolDown?: number;
  /** Milliseconds after which keys are loaded again, so that a withdrawn one goes. Default 600,000, as jose has it. */
  readonly maximumAge?: number;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
  readonly logger?: Logger;
}

/**
 * Keys that are loaded when they are first needed and again when a token names one that is not among them. While
 * the issuer cannot be reached the known ones stay in use: its outage must not lock out every caller.
 */
export class CachedKeys implements KeySource {
  readonly #issuer: string;
  readonly #load: LoadKeys;
  readonly #coolDown: number;
  readonly #maximumAge: number;
  readonly #clock: () => number;
  readonly #logger: Logger;
  #keys: KeySet | undefined;
  #loadedAt = Number.NEGATIVE_INFINITY;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #pending: Promise<void> | undefined;

  constructor(options: CachedKeysOptions) {
    const { coolDown = 30_000, maximumAge = 600_000, clock = Date.now, logger = silentLogger } = options;
    this.#issuer = options.issuer;
    this.#load = options.load;
    this.#coolDown = coolDown;
    this.#maximumAge = maximumAge;
    this.#clock = clock;
    this.#logger = logger;
  }

  async current(): Promise<KeySet> {
    if (this.#keys === undefined) await this.refresh();
    // A refresh that is due blocks no request: the cached keys stay valid until newer ones arrive.
    else if (this.#hasPassed(this.#maximumAge, this.#loadedAt)) void this.refresh();
    if (this.#keys === undefined) {
      throw new TokenError(
        'KeysUnavailable',
        'cannot be checked: the keys of its issuer could not be loaded',
      );
    }
    return this.#keys;
  }

  refresh(): Promise<void> {
    if (this.#pending !== undefined) return this.#pending;
    if (!this.#hasPassed(this.#coolDown, this.#attemptedAt)) return Promise.resolve();
    this.#attemptedAt = this.#clock();
    this.#pending = this.#attempt().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #attempt(): Promise<void> {
    try {
      this.#keys = await this.#load();
      this.#loadedAt = this.#clock();
    } catch (error) {
      this.#logger.error(
        { issuer: this.#issuer, err: error },
        this.#keys === undefined
          ? 'The keys of a token issuer could not be loaded: its tokens pass through unverified until they can'
          : 'The keys of a token issuer could not be renewed: the known ones stay in use',
      );
    }
  }

  /** A clock that was set back counts as time passed: it must not stop the renewal of keys. */
  #hasPassed(duration: number, since: number): boolean {
    const elapsed = this.#clock() - since;
    return elapsed >= duration || elapsed < 0;
  }
}
