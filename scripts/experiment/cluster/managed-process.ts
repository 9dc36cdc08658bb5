import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lifeOf } from '../../harness/process-life.ts';

/** A program of the experiment that is stopped, killed and started again. */
export interface ManagedProcess {
  readonly pid: number;
  readonly child: ChildProcess;
  /** SIGTERM, and SIGKILL when it has not ended in time. Resolves when it is gone. */
  stop(): Promise<void>;
  /** SIGKILL: nothing of it is left to say goodbye. */
  kill(): Promise<void>;
}

interface ManagedProgram {
  /** Flags of Node itself. */
  readonly nodeFlags?: readonly string[];
  readonly arguments: readonly string[];
  /** Where its standard error goes, added to what is there. */
  readonly logFile: string;
  /** Descriptors beside input, output and error. */
  readonly furtherPipes?: number;
  /** Milliseconds between SIGTERM and SIGKILL. Default 30,000. */
  readonly stopWithin?: number;
}

/** Hundreds of starts of the same programs: what Node has compiled once is kept. */
const compileCache = join(tmpdir(), 'mixed-version-proxy-compile-cache');

/** Starts a script with this process's own Node. */
export function startProcess(program: ManagedProgram): ManagedProcess {
  const child = spawn(process.execPath, [...(program.nodeFlags ?? []), ...program.arguments], {
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    stdio: [
      'ignore',
      'pipe',
      'pipe',
      ...Array.from({ length: program.furtherPipes ?? 0 }, () => 'pipe' as const),
    ],
  });
  child.stderr?.pipe(createWriteStream(program.logFile, { flags: 'a' }));
  const life = lifeOf(child);
  return {
    pid: child.pid ?? Number.NaN,
    child,
    kill: () => life.kill(),
    async stop() {
      await life.stop(program.stopWithin ?? 30_000);
    },
  };
}

/** Waits for a line on standard output. @throws when the process ends first */
export async function firstLine({ child }: ManagedProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    const end = text.indexOf('\n');
    if (end >= 0) resolve(text.slice(0, end));
  });
  child.once('exit', (code, signal) => reject(new Error(`ended with ${code ?? signal} before it was ready`)));
  return promise;
}
