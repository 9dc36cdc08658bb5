import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { findProgram } from '../../test/support/commands/find-program.ts';
import type { Machine } from './machine-schema.ts';

/** As it is now. */
export function describeMachine(): Machine {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memory: Math.round(totalmem() / 2 ** 30),
    // The version alone: what a vendor appends says nothing that bears on the figures.
    kernel: release().split('-')[0] ?? '',
    loadBefore: loadavg()[0] ?? Number.NaN,
  };
}

/** The core for the proxy and the one for load and server; none where there is only one, or no way to choose. */
export interface Cores {
  readonly proxy: number | undefined;
  readonly others: number | undefined;
}

export function chooseCores(): Cores {
  const canPin = availableParallelism() >= 2 && findProgram('taskset') !== undefined;
  return canPin ? { proxy: 1, others: 0 } : { proxy: undefined, others: undefined };
}
