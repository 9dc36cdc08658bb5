import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { lifeOf } from '../../../demo/process-life.ts';
import { commandModule } from './command.ts';

/** `mixed-version-proxy` as a process of its own. */
export interface CommandProcess {
  isRunning(): boolean;
  /** Everything it has written to standard error. */
  log(): string;
  /** Sends a signal without waiting for what comes of it. */
  signal(name: NodeJS.Signals): void;
  /** Exit code of the command once it has ended and all of its log is there; `null` when a signal ended it. */
  readonly ended: Promise<number | null>;
}

/**
 * Starts it; killed, if it still runs, when the test is over.
 *
 * @param args its subcommand and that one's arguments
 * @param shellPrelude a shell command that it is started behind, such as `ulimit -f 8`
 */
export function startCommandProcess(
  context: TestContext,
  args: readonly string[],
  shellPrelude?: string,
): CommandProcess {
  const words = [process.execPath, commandModule, ...args];
  const [executable = '', ...rest] =
    shellPrelude === undefined ? words : ['/bin/sh', '-c', `${shellPrelude}; exec "$0" "$@"`, ...words];
  const child = spawn(executable, rest, { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const life = lifeOf(child);
  const closed = once(child, 'close');
  const ended = closed.then(() => life.ended);
  context.after(async () => {
    await life.kill();
    await closed;
  });
  return {
    isRunning: life.isRunning,
    log: () => log,
    signal: (name) => {
      child.kill(name);
    },
    ended,
  };
}
