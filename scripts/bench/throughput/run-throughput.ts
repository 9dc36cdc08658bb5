import { withCleanup } from '../../harness/cleanup.ts';
import { chooseCores, describeMachine } from '../../harness/machine.ts';
import { startBackend } from '../rivals/backend.ts';
import type { Contender, ContenderName } from '../rivals/contender.ts';
import { enter } from '../rivals/contenders.ts';
import { createWorkbench } from '../workbench.ts';
import { measureRound } from './measure-round.ts';
import type { ThroughputResults, ThroughputRound, WorkloadResults } from './results.ts';
import { type WorkloadName, workloads } from './workloads.ts';

export interface ThroughputOptions {
  readonly workloads: readonly WorkloadName[];
  readonly contenders: readonly ContenderName[];
  /** Measured besides. */
  readonly also?: readonly Contender[];
  readonly rounds: number;
  /** How often each contender is measured with each workload in each round. */
  readonly passes: number;
  /** Seconds of load before anything counts, in each pass. */
  readonly warmUp: number;
  /** Of each pass, after its warm-up. */
  readonly seconds: number;
  readonly tell: (line: string) => void;
}

/** Measures; nothing is left running or written afterwards. */
export function runThroughput(options: ThroughputOptions): Promise<ThroughputResults['workloads']> {
  // Before anything of ours is put on the machine.
  const machine = describeMachine();
  return withCleanup(async (cleanup) => {
    const { passes, warmUp, seconds, tell } = options;
    const workbench = await createWorkbench(cleanup);
    const { entrants: installed, missing } = await enter(options.contenders, workbench);
    const also = (options.also ?? []).map(async (contender) => ({
      contender,
      version: (await contender.version(workbench)) ?? '',
    }));
    const entrants = [...installed, ...(await Promise.all(also))];
    if (missing.length > 0) tell(`Not installed, left out: ${missing.join(', ')}.`);
    const clientCertificate = workbench.clientCertificateLibrary === undefined ? 'none' : 'presented';
    if (clientCertificate === 'none') {
      tell(
        'Without a C compiler (cc) the load comes without a client certificate, and no identity is stamped.',
      );
    }
    const cores = chooseCores();
    if (cores.proxy === undefined) tell('One core, or no taskset: proxy and load are not kept apart.');
    const backend = await startBackend(workbench, cleanup, cores.others);
    const wanted = workloads.filter(({ name }) => options.workloads.includes(name));
    const asked = workbench.goPrograms === undefined ? wanted.filter(({ kind }) => kind !== 'rate') : wanted;
    if (asked.length < wanted.length) {
      tell('Without Go there is no generator for a fixed rate: those workloads are left out.');
    }
    const rounds: ReadonlyMap<WorkloadName, ThroughputRound>[] = [];
    for (let round = 0; round < options.rounds; round++) {
      tell(`Round ${round + 1} of ${options.rounds}`);
      const reversed = round % 2 === 1;
      rounds.push(
        await measureRound({
          workbench,
          cores,
          backend,
          entrants,
          workloads: asked,
          reversed,
          passes,
          warmUp,
          seconds,
          tell,
        }),
      );
    }
    const shared = {
      measuredAt: new Date().toISOString(),
      machine,
      passes,
      warmUp,
      seconds,
      clientCertificate,
      backend: backend.kind,
      versions: Object.fromEntries(entrants.map(({ contender, version }) => [contender.name, version])),
    } as const;
    return Object.fromEntries(
      asked.map(({ name }): [WorkloadName, WorkloadResults] => [
        name,
        { ...shared, rounds: rounds.flatMap((round) => round.get(name) ?? []) },
      ]),
    );
  });
}
