import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, type Command, startChild } from '../../harness/child-process.ts';

/** Hundreds of starts of the same programs: what Node has compiled once is kept. */
const environment = { NODE_COMPILE_CACHE: join(tmpdir(), 'mixed-version-proxy-compile-cache') };

/** Starts a script with this process's own Node: a part of the experiment that is stopped, killed and started again. */
export function startScript(command: Omit<Command, 'executable' | 'environment'>): Promise<Child> {
  return startChild({ executable: process.execPath, environment, stopWithin: 30_000, ...command });
}
