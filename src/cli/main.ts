import { processContext } from './command-context.ts';
import { runCommandLine } from './run-command-line.ts';

process.exitCode = await runCommandLine(process.argv.slice(2), processContext());
// Behind all other listeners. Node's own clean-up has been seen to turn round for ever over TLS sockets that were
// destroyed while they wrote (Environment::CleanupHandles, Node 26.10): a router that has drained would never end.
process.once('exit', (code) => process.exit(code));
