/** One kind of work of a client program, as each prints it at its end. */
export interface Work {
  readonly done: number;
  /** How often, by what the error says. */
  readonly errors: Readonly<Record<string, number>>;
  /** Objects that an informer never showed. */
  readonly gaps: number;
  /** Objects that it said twice were added. */
  readonly duplicates: number;
}

export type WorkByKind = Readonly<Record<string, Work>>;

/** Counts, for the programs in TypeScript. */
export function newWork() {
  const errors: Record<string, number> = {};
  const work = { done: 0, errors, gaps: 0, duplicates: 0 };
  return {
    work,
    async count(act: () => Promise<unknown>): Promise<boolean> {
      try {
        await act();
        work.done++;
        return true;
      } catch (error) {
        const text = (error instanceof Error ? error.message : String(error)).slice(0, 160);
        errors[text] = (errors[text] ?? 0) + 1;
        return false;
      }
    },
  };
}

/** A program is told to end by SIGTERM. */
export function untilSignal(): { readonly isOver: () => boolean } {
  let isOver = false;
  process.once('SIGTERM', () => {
    isOver = true;
  });
  return { isOver: () => isOver };
}
