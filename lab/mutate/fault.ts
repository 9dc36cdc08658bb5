/** One place of the product made wrong. Paths are from the root of the repository. */
export interface Fault {
  readonly name: string;
  readonly file: string;
  /** In the file once. */
  readonly from: string;
  readonly to: string;
}

/** A fault that made-up inputs have to find. */
export interface SearchedFault extends Fault {
  /** A file of `test/fuzz/targets` or `packages/http2/test/fuzz`, without `.test.ts`. */
  readonly target: string;
  /** Inputs within which it is found. */
  readonly runs: number;
}

export const foundBy = (
  target: string,
  runs: number,
  ...faults: readonly (readonly [name: string, file: string, from: string, to: string])[]
): SearchedFault[] =>
  faults.map(([name, file, from, to]) => ({
    ...{ name: `fuzz ${target}: ${name}`, file, from, to, target, runs },
  }));
