import { processContext } from './command-context.ts';
import { runCommandLine } from './run-command-line.ts';

process.exitCode = await runCommandLine(process.argv.slice(2), processContext());
