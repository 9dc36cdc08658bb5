import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { lifeOf } from '../process-life.ts';
import type { RunningEdge } from './running-edge.ts';

/** Milliseconds. */
const startDeadline = 30_000;
const closeGrace = 2_000;
/** Characters of output that are kept. */
const keptOutput = 64 * 1024;

interface EdgeProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** Also shows what it writes. Default: keeps it only. */
  readonly show?: boolean | undefined;
}

/**
 * Starts a process that tells on file descriptor 3 which port it listens on, in a line of JSON such as
 * `{"event":"listen","port":6443}` (workerd's `--control-fd`), or on its error output where it has no such option.
 * @throws when it ends before that, with what it wrote.
 */
export async function startEdgeProcess(options: EdgeProcessOptions): Promise<RunningEdge> {
  const child = spawn(options.command, options.args, {
    cwd: options.directory,
    env: { ...options.env },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const life = lifeOf(child);
  const end = async (): Promise<void> => void (await life.stop(closeGrace));
  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-keptOutput);
    if (options.show === true) process.stderr.write(chunk);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  try {
    const port = await listeningPort(child);
    return {
      origin: `https://127.0.0.1:${port}`,
      // The server has listened, so it has an address.
      pid: child.pid ?? 0,
      output: () => output,
      ended: life.ended.then(() => undefined),
      close: end,
    };
  } catch (error) {
    await end();
    // Output that was shown is not told twice.
    const told = options.show === true ? '' : `\n${output}`;
    throw new Error(`${error instanceof Error ? error.message : String(error)}${told}`, { cause: error });
  }
}

function listeningPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('it did not listen in time:')), startDeadline);
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      act();
    };
    child.once('error', (error) => settle(() => reject(error)));
    child.once('exit', (code) => settle(() => reject(new Error(`it ended with code ${code}:`))));
    for (const stream of [child.stdio[3] as Readable | null, child.stderr]) {
      let text = '';
      stream?.on('data', (chunk: Buffer) => {
        text = (text + chunk.toString()).slice(-keptOutput);
        const port = /"event": ?"listen".*"port": ?(\d+)/.exec(text)?.[1];
        if (port !== undefined) settle(() => resolve(Number(port)));
      });
    }
  });
}
