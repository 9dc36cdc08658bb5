import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';

/** A process of the live cluster; both its outputs go to a file. */
export interface LoggedProcess {
  readonly name: string;
  isRunning(): boolean;
  /** Everything that the file holds, of earlier processes too. */
  log(): string;
  /**
   * Ends it: SIGTERM, and SIGKILL once `graceMilliseconds` are over.
   * @returns whether SIGTERM was enough
   */
  stop(graceMilliseconds: number): Promise<boolean>;
}

export interface LoggedProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly environment?: NodeJS.ProcessEnv;
}

/** Starts it. Its log file is appended to, so a server that comes back continues its own. */
export async function startLoggedProcess(options: LoggedProcessOptions): Promise<LoggedProcess> {
  const { name, command, args, logFile, environment = process.env } = options;
  const output = openSync(logFile, 'a', 0o600);
  const child = spawn(command, args, { stdio: ['ignore', output, output], env: environment });
  closeSync(output);
  // A test run that is cut short leaves nothing behind.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit').then(() => process.off('exit', kill));
  // An `error` event without a listener would end the test run; a failed start is told here.
  await once(child, 'spawn').catch((cause: unknown) => {
    throw new Error(`${name} cannot be started from ${command}`, { cause });
  });
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  return {
    name,
    isRunning,
    log: () => readFileSync(logFile, 'utf8'),
    async stop(graceMilliseconds) {
      if (!isRunning()) return true;
      child.kill('SIGTERM');
      let wasEnough = true;
      const timer = setTimeout(() => {
        wasEnough = false;
        child.kill('SIGKILL');
      }, graceMilliseconds);
      await ended;
      clearTimeout(timer);
      return wasEnough;
    },
  };
}

/** The last lines of a log, for a message about a process that did not do what it should. */
export function endOfLog({ name, log }: LoggedProcess, lines = 15): string {
  return `last lines of ${name}:\n${log().trimEnd().split('\n').slice(-lines).join('\n')}`;
}
