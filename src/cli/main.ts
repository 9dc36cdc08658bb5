import { runCommandLine } from './run-command-line.ts';
import { processContext } from './terminal/command-context.ts';

/** Without `await` here: a bundle in CommonJS has none outside of functions. */
export const done = runCommandLine(process.argv.slice(2), processContext()).then((code) => {
  process.exitCode = code;
});
