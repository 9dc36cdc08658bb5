import { createTimeSlice } from './time.ts';

/** Work that can be broken off at each `yield`, a millisecond apart or less. It must not throw. */
export type Steps<Result> = Generator<void, Result>;

/**
 * Work that several may wait for, done once and in slices: whoever waits does the next steps. No promise is shared, as on
 * Workers a promise belongs to the request that made it, and one that is broken off would leave all others waiting.
 */
export class SharedWork<Result> {
  readonly #steps: Steps<Result>;
  #result: IteratorReturnResult<Result> | undefined;

  constructor(steps: Steps<Result>) {
    this.#steps = steps;
  }

  #step(): IteratorReturnResult<Result> | undefined {
    if (this.#result !== undefined) return this.#result;
    const step = this.#steps.next();
    if (step.done === true) this.#result = step;
    return this.#result;
  }

  async inSlices(): Promise<Result> {
    const slice = createTimeSlice();
    for (;;) {
      const result = this.#step();
      if (result !== undefined) return result.value;
      await slice.rest();
    }
  }

  now(): Result {
    for (;;) {
      const result = this.#step();
      if (result !== undefined) return result.value;
    }
  }
}
