/** The part of a structured logger that the core uses. */
export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** How much a process logs: the level of `-v`, which may change while it runs. */
export interface LogVerbosity {
  level: number;
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

const interval = 10_000;

/** Kinds that are kept apart. More appear only when an error makes up names. */
const mostKinds = 1_000;

/**
 * Warns of failures that come in their thousands while a server is down: the first of a kind at once, then one line an
 * interval, with the number of those in between (`repeated`). The rest of a burst is told of with the next failure.
 */
export class FailureLog {
  readonly #logger: Logger;
  readonly #clock: () => number;
  readonly #told = new Map<string, { readonly since: number; withheld: number }>();

  constructor({ logger, clock }: { readonly logger: Logger; readonly clock: () => number }) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** @param kind what counts as the same failure, for example a destination and a code. */
  warn(kind: string, fields: Readonly<Record<string, unknown>>, message: string): void {
    const now = this.#clock();
    this.#tellOfEnded(now);
    const told = this.#told.get(kind);
    if (told !== undefined && now - told.since < interval) {
      told.withheld += 1;
      return;
    }
    const repeated = told?.withheld === 0 ? undefined : told?.withheld;
    this.#logger.warn(repeated === undefined ? fields : { ...fields, repeated }, message);
    if (this.#told.size >= mostKinds) this.#told.clear();
    this.#told.set(kind, { since: now, withheld: 0 });
  }

  #tellOfEnded(now: number): void {
    for (const [kind, told] of this.#told) {
      if (now - told.since < 2 * interval) continue;
      if (told.withheld > 0) this.#logger.warn({ kind, repeated: told.withheld }, 'A failure was repeated');
      this.#told.delete(kind);
    }
  }
}
