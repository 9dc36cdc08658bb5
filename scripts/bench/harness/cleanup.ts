/** What has to be undone at the end: the last opened first, and each even when another fails. */
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

/** Runs `work`, and then what it has asked to be undone: also when it fails, or when the process is told to end. */
export async function withCleanup<Result>(work: (cleanup: Cleanup) => Promise<Result>): Promise<Result> {
  const cleanup = new Cleanup();
  const interrupted = (signal: NodeJS.Signals): void => {
    const exit = (): never => process.exit(signal === 'SIGINT' ? 130 : 143);
    cleanup.run().then(exit, exit);
  };
  process.once('SIGINT', interrupted);
  process.once('SIGTERM', interrupted);
  try {
    return await work(cleanup);
  } finally {
    process.off('SIGINT', interrupted);
    process.off('SIGTERM', interrupted);
    await cleanup.run();
  }
}
