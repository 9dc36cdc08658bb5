import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { lifeOf, type ProcessLife } from '../../../demo/process-life.ts';

/** A process of the live cluster; both its outputs go to a file. */
export interface LoggedProcess extends Pick<ProcessLife, 'isRunning' | 'kill' | 'stop' | 'ended'> {
  readonly name: string;
  readonly pid: number;
  /** Everything that the file holds, of earlier processes too. */
  log(): string;
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
  const { isRunning, kill, stop, ended } = lifeOf(child);
  // An `error` event without a listener would end the test run; a failed start is told here.
  await once(child, 'spawn').catch((cause: unknown) => {
    throw new Error(`${name} cannot be started from ${command}`, { cause });
  });
  return {
    name,
    pid: child.pid ?? 0,
    isRunning,
    log: () => readFileSync(logFile, 'utf8'),
    kill,
    stop,
    ended,
  };
}

/** The last lines of a log, for a message about a process that did not do what it should. */
export function endOfLog({ name, log }: LoggedProcess, lines = 15): string {
  return `last lines of ${name}:\n${log().trimEnd().split('\n').slice(-lines).join('\n')}`;
}
