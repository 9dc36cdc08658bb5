import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { lifeOf, type ProcessLife } from '../../../demo/process-life.ts';

/** A program and what it is started with. */
export interface Command {
  readonly executable: string;
  readonly arguments: readonly string[];
  /** In addition to the environment of this process. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Where its standard error goes, added to what is there. Default: nowhere. */
  readonly logFile?: string;
}

/** A running program that somebody has to stop. */
export interface Child {
  readonly pid: number;
  /** Called with each line of standard output, for lines that have not been taken by `nextLine`. */
  onLine(listener: (line: string) => void): void;
  /** @throws when the program ends first, or after `milliseconds`. */
  nextLine(milliseconds?: number): Promise<string>;
  /** Writes a line to standard input. */
  tell(line: string): void;
  /** Exit code and all of standard output, when it has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
  /** The last of what it wrote to standard error. */
  errors(): string;
  /** SIGTERM, and SIGKILL when it has not ended within five seconds; resolves when it is gone. */
  stop(): Promise<void>;
}

const keptErrorCharacters = 4_000;

/**
 * Starts a program, on one core only where `core` is given.
 * @throws when there is no such program.
 */
export async function startChild(command: Command, core?: number): Promise<Child> {
  // taskset replaces itself by the program, so the process ID is the program's.
  const words = [command.executable, ...command.arguments];
  const [executable = '', ...rest] =
    core === undefined ? words : ['taskset', '--cpu-list', String(core), ...words];
  const child = spawn(executable, rest, {
    stdio: 'pipe',
    env: { ...process.env, ...command.environment },
  });
  await once(child, 'spawn');
  return new RunningChild(child, command);
}

class RunningChild implements Child {
  readonly ended: Child['ended'];
  readonly #child: ChildProcess;
  readonly #input: Writable;
  readonly #command: Command;
  readonly #life: ProcessLife;
  readonly #unread: string[] = [];
  #listener: (line: string) => void = (line) => this.#unread.push(line);
  #errors = '';

  constructor(child: ChildProcess, command: Command) {
    const { stdin, stdout, stderr } = child;
    if (stdin === null || stdout === null || stderr === null) throw new TypeError('the pipes are missing');
    this.#child = child;
    this.#input = stdin;
    this.#command = command;
    this.#life = lifeOf(child);
    const lines: string[] = [];
    createInterface({ input: stdout }).on('line', (line) => {
      lines.push(line);
      this.#listener(line);
    });
    if (command.logFile !== undefined) stderr.pipe(createWriteStream(command.logFile, { flags: 'a' }));
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-keptErrorCharacters);
    });
    // The child may have closed its input, or be gone, when something is told.
    stdin.on('error', () => {});
    this.ended = once(child, 'close').then(([code]) => ({ code, output: lines.join('\n') }));
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  onLine(listener: (line: string) => void): void {
    this.#listener = listener;
    for (const line of this.#unread.splice(0)) listener(line);
  }

  async nextLine(milliseconds = 60_000): Promise<string> {
    const told = this.#unread.shift();
    if (told !== undefined) return told;
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const timer = setTimeout(
      () => reject(new Error(`${this.#command.executable} said nothing for ${milliseconds} ms`)),
      milliseconds,
    );
    const keep = (line: string): void => void this.#unread.push(line);
    this.#listener = (line) => {
      // At once: the next line may be in the same chunk.
      this.#listener = keep;
      resolve(line);
    };
    this.ended.then(
      ({ code }) => reject(new Error(`${this.#command.executable} ended with ${code}: ${this.#errors}`)),
      reject,
    );
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#listener = keep;
    }
  }

  tell(line: string): void {
    this.#input.write(`${line}\n`);
  }

  errors(): string {
    return this.#errors;
  }

  async stop(): Promise<void> {
    await this.#life.stop(5_000);
  }
}
