import { once } from 'node:events';
import { fstatSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Listening } from '../../node/configuration/serve-config.ts';
import { onReloadSignal, type ShutdownSignal, shutdownSignal } from '../../node/process/signals.ts';
import { listenError } from '../../node/serving/server-error.ts';
import { fileErrorMessage } from '../../runtime/errors.ts';

/** The parts of the process that a subcommand may touch. Tests bring their own. */
export interface CommandContext {
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Resolves once the reader has taken it, so that a slow reader slows the command instead of filling memory. */
  readonly writeOutput: (text: string) => Promise<void>;
  /** True if the output is for a person's eyes: a terminal that shows colours, and colours were not turned off. */
  readonly outputTakesColor: boolean;
  readonly outputWidth: () => number;
  readonly writeError: (text: string) => void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** UTF-8 text; throws when the file cannot be read. */
  readonly readFile: (path: string) => string;
  /** Why the port cannot be listened on; `undefined` when it can. */
  readonly portInUse: typeof portInUse;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Resolves with the first signal that asks the process to end; a second one ends it at once. */
  readonly shutdownSignal: () => Promise<ShutdownSignal>;
  /** Calls `listener` for each signal that asks the process to read its files again. */
  readonly onReloadSignal: (listener: () => void) => void;
}

export function processContext(): CommandContext {
  // A reader that has seen enough (`… | head`) closes the pipe. Each write gets an error; without a listener the
  // stream's own event would end the process with a stack trace.
  process.stdout.on('error', () => {});
  // A log that cannot be written (a full disk, a collector that has ended) is no reason to end what serves.
  process.stderr.on('error', () => {});
  return {
    stdin: standardInput(),
    writeOutput: (text) =>
      new Promise((resolve, reject) => {
        process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
      }),
    outputTakesColor: showsColors(),
    // A terminal without a size has 0.
    outputWidth: () => process.stdout.columns || 80,
    writeError: errorWriter(process.stderr),
    environment: process.env,
    portInUse,
    readFile: readTextFile,
    clock: Date.now,
    shutdownSignal,
    onReloadSignal,
  };
}

/** Characters that wait for who reads the log. */
const longestBacklog = 4 * 1024 * 1024;

/** Lines are left out, and counted, while their reader has stopped reading: a pipe of a log that is stuck would fill the memory. */
function errorWriter(stream: Pick<NodeJS.WriteStream, 'write' | 'writableLength'>): (text: string) => void {
  let leftOut = 0;
  return (text) => {
    if (stream.writableLength > longestBacklog) {
      leftOut += 1;
      return;
    }
    if (leftOut > 0) stream.write(`${leftOut} lines are missing here: what reads them had stopped\n`);
    leftOut = 0;
    stream.write(text);
  };
}

/** True if standard output is a terminal that shows colours, unless NO_COLOR is set. */
export function showsColors(): boolean {
  return process.stdout.isTTY === true && process.stdout.hasColors();
}

/** As UTF-8, pipes included (`--snapshot <(…)`). Throws when it cannot be read. */
export function readTextFile(path: string): string {
  return readFileSync(path, 'utf8');
}

/** Reads a file that a flag or argument names, or ends the command with exit code 2. */
export function readInputFile(context: CommandContext, name: string, path: string): string {
  try {
    return context.readFile(path);
  } catch (cause) {
    throw new CommandFailure(2, [`${name}: cannot read ${path}: ${fileErrorMessage(cause)}`], { cause });
  }
}

/** Standard input; a directory in its place is a wrong call, not an input without lines. */
async function* standardInput(): AsyncGenerator<Uint8Array> {
  if (fstatSync(0).isDirectory()) throw new CommandFailure(2, ['standard input is a directory']);
  for await (const chunk of process.stdin) yield chunk as Uint8Array;
}

/** Exit codes: 0 done, 1 failed while running, 2 called or configured wrongly. */
export type ExitCode = 0 | 1 | 2;

interface CommandFailureOptions extends ErrorOptions {
  /** Advice, on the line behind the problems. Default: they say all. */
  readonly hint?: string | undefined;
}

/** Ends a subcommand with one line per problem on standard error. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;
  readonly lines: readonly string[];
  readonly hint: string | undefined;

  constructor(exitCode: ExitCode, lines: readonly string[], options: CommandFailureOptions = {}) {
    super(lines.join('\n'), options);
    this.hint = options.hint;
    this.exitCode = exitCode;
    this.lines = lines;
  }
}

/** Reason why the router could not listen now; where the port is in use, the router itself may run there already. */
export async function portInUse({
  bindAddress: host,
  port,
}: Listening): Promise<{ readonly message: string; readonly isInUse: boolean } | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port });
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return undefined;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const { code, message } = listenError(error, host, port, '--bind-address');
    return { message: `--secure-port: ${message}`, isInUse: code === 'AddressInUse' };
  }
}
