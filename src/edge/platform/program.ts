/** Written in its place by the bundler (scripts/worker/bundle-worker.ts): a digest of the Worker's code. */
declare const workerProgram: string | undefined;

/** The program that runs here; `undefined`: nobody can say, as it was not built by `npm run build -- --worker`. */
export const program = typeof workerProgram === 'string' ? workerProgram : undefined;
