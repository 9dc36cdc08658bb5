import { runCommandLine } from './run-command-line.ts';
import { processContext } from './terminal/command-context.ts';

// Until the command has ended: what waits for nothing any more without an end is no success. 13 is Node's own code for that.
process.exitCode = 13;

/** Without `await` here: a bundle in CommonJS has none outside of functions. */
export const done = runCommandLine(process.argv.slice(2), processContext()).then((code) => {
  process.exitCode = code;
});
