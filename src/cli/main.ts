import { endWith, keepWatchdog } from '../node/process/signals.ts';
import { runCommandLine } from './run-command-line.ts';
import { processContext } from './terminal/command-context.ts';

// As early as possible: systemd counts from the start of the process.
keepWatchdog(process.env);

// Until the command has ended: what waits for nothing any more without an end is no success. 13 is Node's own code for that.
process.exitCode = 13;

/** Without `await` here: a bundle in CommonJS has none outside of functions. */
export const done = runCommandLine(process.argv.slice(2), processContext()).then(endWith);
