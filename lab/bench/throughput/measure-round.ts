import { withCleanup } from '../../harness/cleanup.ts';
import { UsageError } from '../../harness/command-line.ts';
import type { Bench } from '../open-bench.ts';
import type { ContenderName } from '../rivals/contender.ts';
import type { Entrant } from '../rivals/contenders.ts';
import { type RunningContender, startContender } from '../rivals/running-contender.ts';
import { measureWorkload } from './measure-workload.ts';
import { middleOf } from './middle-of.ts';
import type { ThroughputFigures, ThroughputRound } from './results.ts';
import { type Workload, type WorkloadName, workloads } from './workloads.ts';

interface RoundOptions {
  readonly entrants: readonly Entrant[];
  readonly workloads: readonly Workload[];
  /** Goes through the contenders from the last to the first, so that none always comes after the same one. */
  readonly reversed: boolean;
  /** How often each contender is measured with each workload, every other time from the last to the first. */
  readonly passes: number;
  /** Seconds of each pass before anything counts: connections are opened, and a process that has rested is at work again. */
  readonly warmUp: number;
  /** Seconds of each pass that count. */
  readonly seconds: number;
}

/**
 * Load that a fresh process is given first, for each protocol and method. Node compiles what it runs by how often it
 * runs: measured, the first 10,000 requests of a process cost up to twice what later ones do, and over HTTP/2 a GET
 * becomes cheaper until about the 50,000th. A proxy runs for weeks.
 */
const firstWarmUp = { requests: 60_000, seconds: 2, repetitions: 6 } as const;

/**
 * One round: fresh processes of all contenders; then workload by workload, one contender after the other in several
 * passes, so that what is compared lies close together in time. Processes that are not being measured are idle.
 */
export function measureRound(
  bench: Bench,
  options: RoundOptions,
): Promise<ReadonlyMap<WorkloadName, ThroughputRound>> {
  return withCleanup(async (cleanup) => {
    const { workbench, cores, backend } = bench;
    const { entrants } = options;
    const running: RunningContender[] = [];
    for (const { contender } of options.reversed ? entrants.toReversed() : entrants) {
      const environment = { workbench, servers: backend.servers, core: cores.proxy, cleanup };
      try {
        running.push(await startContender(contender, environment));
      } catch (error) {
        console.log(`${contender.title} did not start: ${String(error)}`);
      }
    }
    await warmUpAll(running, bench, options);
    const rounds = new Map<WorkloadName, ThroughputRound>();
    for (const workload of options.workloads) {
      const rate =
        workload.kind === 'rate'
          ? (workload.perSecond ?? (await halfOfSaturation(workload, running, rounds, bench, options)))
          : undefined;
      console.log(`${workload.title}${rate === undefined ? '' : `, ${rate} a second`}`);
      const contenders = await measurePasses(workload, running, rate, bench, options);
      rounds.set(workload.name, { ...(rate !== undefined && { rate }), contenders });
    }
    return rounds;
  });
}

/** Figures of each contender in the middle of its passes. One that fails has no figures; the others still count. */
async function measurePasses(
  workload: Workload,
  running: readonly RunningContender[],
  rate: number | undefined,
  { workbench, cores }: Bench,
  { passes, warmUp, seconds }: RoundOptions,
): Promise<ThroughputRound['contenders']> {
  const measured = new Map(running.map((contender) => [contender, [] as ThroughputFigures[]]));
  for (let pass = 0; pass < passes; pass++) {
    for (const contender of pass % 2 === 0 ? running : running.toReversed()) {
      try {
        const figures = await measureWorkload(workload, contender, {
          ...{ workbench, cores, warmUp, seconds, rate },
        });
        measured.get(contender)?.push(figures);
      } catch (error) {
        measured.delete(contender);
        console.log(`  ${contender.title} failed: ${String(error)}`);
      }
    }
  }
  const contenders: Partial<Record<ContenderName, ThroughputFigures>> = {};
  for (const [{ name, title }, all] of measured) {
    const figures = middleOf(all);
    contenders[name] = figures;
    console.log(`  ${title}: ${figures.requestsPerSecond}/s, ${figures.cpuTimePerRequest} µs each`);
  }
  return contenders;
}

async function warmUpAll(
  running: readonly RunningContender[],
  bench: Bench,
  options: RoundOptions,
): Promise<void> {
  const paths = new Set(options.workloads.map(pathOf));
  for (const workload of workloads.filter(({ kind }) => kind === 'saturation')) {
    // One for each is enough: the first, which is the smallest.
    if (!paths.delete(pathOf(workload))) continue;
    for (const contender of running) {
      try {
        await warmUpOne(workload, contender, bench);
      } catch (error) {
        if (error instanceof UsageError) throw error;
        console.log(`${contender.title} failed while it warmed up: ${String(error)}`);
      }
    }
  }
}

/** The code that a request goes through in a proxy depends on both. */
function pathOf({ protocol, method }: Workload): string {
  return `${method} ${protocol}`;
}

async function warmUpOne(
  workload: Workload,
  contender: RunningContender,
  { workbench, cores }: Bench,
): Promise<void> {
  const { seconds, repetitions } = firstWarmUp;
  let requests = 0;
  for (let turn = 0; turn < repetitions && requests < firstWarmUp.requests; turn++) {
    const figures = await measureWorkload(workload, contender, { workbench, cores, warmUp: 0, seconds });
    requests += figures.requestsPerSecond * seconds;
  }
}

/** Half of what the router, or else the first of the proxies, does of the same request at saturation. */
async function halfOfSaturation(
  workload: Workload,
  running: readonly RunningContender[],
  rounds: ReadonlyMap<WorkloadName, ThroughputRound>,
  { workbench, cores }: Bench,
  { warmUp, seconds }: RoundOptions,
): Promise<number> {
  const saturated = saturatedFormOf(workload);
  const reference =
    running.find(({ name }) => name === 'router') ?? running.find(({ pid }) => pid !== undefined);
  if (reference === undefined) throw new Error('a fixed rate needs a proxy to take its rate from');
  const measured = rounds.get(saturated.name)?.contenders[reference.name];
  const { requestsPerSecond } =
    measured ?? (await measureWorkload(saturated, reference, { workbench, cores, warmUp, seconds }));
  return Math.round(requestsPerSecond / 2);
}

function saturatedFormOf(workload: Workload): Workload {
  const found = workloads.find(
    ({ kind, target, protocol, method }) =>
      kind === 'saturation' &&
      target === workload.target &&
      protocol === workload.protocol &&
      method === workload.method,
  );
  if (found === undefined)
    throw new Error(`${workload.name} has no workload at saturation to take its rate from`);
  return found;
}
