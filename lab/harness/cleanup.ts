/** Steps that undo things at the end: the last opened first, and each even when another fails. */
export class Cleanup {
  readonly #steps: (() => unknown)[] = [];

  add(step: () => unknown): void {
    this.#steps.push(step);
  }

  /** @throws {AggregateError} what went wrong, after everything has been tried. */
  async run(): Promise<void> {
    const errors: unknown[] = [];
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'not everything could be cleaned up');
  }
}

/** Cleanups that are due now if the process is told to end, the innermost last. */
const active: Cleanup[] = [];

/** Runs `work`, and then what it has asked to be undone: also when it fails, or when the process is told to end. */
export async function withCleanup<Result>(work: (cleanup: Cleanup) => Promise<Result>): Promise<Result> {
  const cleanup = new Cleanup();
  if (active.length === 0) listenForSignals('on');
  active.push(cleanup);
  try {
    return await work(cleanup);
  } finally {
    await cleanup.run();
    active.splice(active.indexOf(cleanup), 1);
    if (active.length === 0) listenForSignals('off');
  }
}

function listenForSignals(change: 'on' | 'off'): void {
  process[change]('SIGINT', endAll);
  process[change]('SIGTERM', endAll);
}

function endAll(signal: NodeJS.Signals): void {
  const exit = (): never => process.exit(signal === 'SIGINT' ? 130 : 143);
  undoAll().then(exit, exit);
}

async function undoAll(): Promise<void> {
  for (const cleanup of active.toReversed()) await cleanup.run().catch(() => {});
}
