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

/**
 * Figures that a program printed at its end: the last line that is JSON. A program that broke before has that as its
 * only error.
 *
 * @param log all that it printed
 * @param said the end of it, for the error
 */
export function figuresOf(log: string, said: string): WorkByKind {
  const line = log.split('\n').findLast((each) => each.startsWith('{'));
  if (line !== undefined) return JSON.parse(line) as WorkByKind;
  return { program: { done: 0, errors: { [said]: 1 }, gaps: 0, duplicates: 0 } };
}

/** A line of counts, and one for each error. */
export function describeWork({ done, errors, gaps, duplicates }: Work): string {
  const failures = Object.values(errors).reduce((sum, times) => sum + times, 0);
  return [
    `${done} done, ${failures} errors, ${gaps} gaps, ${duplicates} duplicates`,
    ...Object.entries(errors).map(([error, times]) => `  ${times} × ${error}`),
  ].join('\n');
}

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
        const text = wordsOf(error);
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

/** The text of a Status in the message, where the client shows it as JSON within JSON; else the first words. */
function wordsOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const said = /\\?"message\\?":\\?"([^"\\]+)/.exec(text)?.[1];
  return (said ?? text).slice(0, 160);
}
