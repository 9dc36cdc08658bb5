import { runCommandLine } from './run-command-line.ts';
import { processContext } from './terminal/command-context.ts';

process.exitCode = await runCommandLine(process.argv.slice(2), processContext());
