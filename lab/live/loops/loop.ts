import { setTimeout as sleep } from 'node:timers/promises';

/** Work that goes on until it is stopped. */
export interface Loop {
  /** Resolves once the turn that is under way has ended. */
  stop(): Promise<void>;
}

/**
 * Takes one turn after the other.
 * @param pause milliseconds behind each
 */
export function startLoop(pause: number, turn: (number: number) => Promise<unknown>): Loop {
  let isStopped = false;
  const running = (async () => {
    for (let number = 0; !isStopped; number++) {
      await turn(number);
      await sleep(pause);
    }
  })();
  return {
    stop() {
      isStopped = true;
      return running;
    },
  };
}

/** Failures, and how often each came. */
export class Tally extends Map<string, number> {
  note(what: string): void {
    this.set(what, (this.get(what) ?? 0) + 1);
  }

  /** A request that got no response. */
  noteBroken(error: unknown, method: string): void {
    this.note(error instanceof Error && 'code' in error ? `${String(error.code)} ${method}` : String(error));
  }

  /** ` (503 /api/v1/namespaces ×1)`; empty where nothing went wrong. */
  describe(): string {
    const details = [...this].map(([what, times]) => `${what} ×${times}`).join(', ');
    return details === '' ? '' : ` (${details})`;
  }
}
