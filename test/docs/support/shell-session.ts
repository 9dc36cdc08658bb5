import { execFile } from 'node:child_process';
import type { ShownCommand } from './command-lines.ts';

/** Result of one command of a session: its exit code, and the text of both of its outputs in order. */
export interface CommandResult extends ShownCommand {
  readonly exitCode: number;
  readonly written: string;
}

export interface SessionOptions {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Milliseconds for all of it. */
  readonly timeout: number;
}

/** RFC 20's record separator, which no command of a page prints. */
const separator = '\u001e';

/** Runs commands one after the other in one shell, so that an `export` holds for those behind it. */
export function runInShell(
  commands: readonly ShownCommand[],
  { directory, environment, timeout }: SessionOptions,
): Promise<readonly CommandResult[]> {
  // In the shell itself, not in a subshell: variables stay.
  const script = commands
    .map(({ command }) => `${command}\nprintf '${separator}%s${separator}' "$?"\n`)
    .join('');
  return new Promise((resolve, reject) => {
    const options = { cwd: directory, env: { ...environment }, timeout, maxBuffer: 16 * 1024 * 1024 };
    execFile('bash', ['-c', `exec 2>&1\n${script}`], options, (error, stdout) => {
      const parts = stdout.split(separator);
      if (parts.length < commands.length * 2) {
        const ended = commands[Math.floor(parts.length / 2)];
        reject(new Error(`the shell ended in line ${ended?.line}: ${ended?.command}`, { cause: error }));
        return;
      }
      resolve(
        commands.map((command, index) => ({
          ...command,
          written: parts[index * 2] ?? '',
          exitCode: Number(parts[index * 2 + 1]),
        })),
      );
    });
  });
}
