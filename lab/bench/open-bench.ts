import type { Cleanup } from '../harness/cleanup.ts';
import { type Cores, chooseCores, describeMachine } from '../harness/machine.ts';
import type { Measurement } from './measurement.ts';
import { type Backend, startBackend } from './rivals/backend.ts';
import type { Contender, ContenderName } from './rivals/contender.ts';
import { type Entrant, enter } from './rivals/contenders.ts';
import { createWorkbench, type Workbench } from './workbench.ts';

/** The workbench that everything is measured on. */
export interface Bench {
  readonly workbench: Workbench;
  readonly cores: Cores;
  readonly backend: Backend;
}

interface OpenBench {
  readonly bench: Bench;
  /** Contenders that are installed, and so measured. */
  readonly entrants: readonly Entrant[];
  /** The circumstances of the figures. */
  readonly measurement: Measurement;
}

/**
 * Makes everything ready that a benchmark needs; `cleanup` ends and removes it.
 * @param also measured besides
 * @throws {UsageError} without the programs that no benchmark can do without
 */
export async function openBench(
  names: readonly ContenderName[],
  cleanup: Cleanup,
  also: readonly Contender[] = [],
): Promise<OpenBench> {
  // Before anything of ours is put on the machine.
  const machine = describeMachine();
  const workbench = await createWorkbench(cleanup);
  const { entrants, missing } = await enter(names, also, workbench);
  if (missing.length > 0) console.log(`Not installed, left out: ${missing.join(', ')}.`);
  const cores = chooseCores();
  if (cores.proxy === undefined) console.log('One core, or no taskset: proxy and load are not kept apart.');
  return {
    bench: { workbench, cores, backend: await startBackend(workbench, cleanup, cores.others) },
    entrants,
    measurement: {
      measuredAt: new Date().toISOString(),
      machine,
      versions: Object.fromEntries(entrants.map(({ contender, version }) => [contender.name, version])),
    },
  };
}

/**
 * Measures each contender once in each round. Every other round goes through them in reverse: none always has the
 * machine at its warmest. One that fails has no figures; the others still count.
 */
export async function inRounds<Figures>(
  rounds: number,
  entrants: readonly Entrant[],
  measure: (contender: Contender) => Promise<Figures>,
): Promise<Partial<Record<ContenderName, Figures>>[]> {
  const measured: Partial<Record<ContenderName, Figures>>[] = [];
  for (let round = 0; round < rounds; round++) {
    const figures: Partial<Record<ContenderName, Figures>> = {};
    for (const { contender } of round % 2 === 0 ? entrants : entrants.toReversed()) {
      console.log(`round ${round + 1}: ${contender.title}`);
      try {
        figures[contender.name] = await measure(contender);
      } catch (error) {
        console.log(`  failed: ${String(error)}`);
      }
    }
    measured.push(figures);
  }
  return measured;
}
