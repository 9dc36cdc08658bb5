import { withCleanup } from '../../harness/cleanup.ts';
import type { Spread } from '../../harness/statistics.ts';
import { spreadText } from '../../report/format.ts';
import { type Rows, terminalTable } from '../../report/text-table.ts';
import { earlierRouterName } from '../rivals/contender.ts';
import { cpuTime, leastCpuTime, ratioOver } from '../throughput/ratios.ts';
import type { ThroughputResults } from '../throughput/results.ts';
import { runThroughput } from '../throughput/run-throughput.ts';
import type { WorkloadName } from '../throughput/workloads.ts';
import { verdictOf } from './compare.ts';
import { quickConditions, quickRounds, quickWorkloads } from './conditions.ts';
import { earlierRouter } from './earlier-router.ts';

/** Ratios that are no change. Narrower than what single rounds of one tree differ by: it is the median of them that counts. */
const unchanged = { from: 0.95, to: 1.05 } as const;

/** The router's CPU time for a request in units of that of another revision, both in one run. */
interface TreeComparison {
  readonly workload: WorkloadName;
  /** Ratio of the best passes, by which the revision is judged. */
  readonly best: Spread;
  readonly median: Spread;
  readonly verdict: ReturnType<typeof verdictOf>;
}

/**
 * Measures this tree and another revision in one run, so that neither the machine nor its neighbours are what differs.
 * @returns 1 when this tree is slower, else 0.
 * @throws {UsageError} when git has no such commit.
 */
export function measureAgainst(
  revision: string,
  workloads: readonly WorkloadName[] = quickWorkloads,
): Promise<number> {
  return withCleanup(async (cleanup) => {
    const results = await runThroughput({
      ...quickConditions,
      workloads,
      contenders: ['router'],
      also: [await earlierRouter(revision, cleanup)],
      rounds: quickRounds.against,
    });
    const comparisons = compareTrees(results, workloads);
    if (comparisons.length < workloads.length) {
      throw new Error('Not every workload could be measured with both; what failed stands above.');
    }
    console.log(`\n${terminalTable(treeRows(comparisons, revision))}`);
    return comparisons.some(({ verdict }) => verdict === 'slower') ? 1 : 0;
  });
}

/** Comparisons of the workloads in which both were measured. */
export function compareTrees(
  results: ThroughputResults['workloads'],
  workloads: readonly WorkloadName[] = quickWorkloads,
): TreeComparison[] {
  return workloads.flatMap((workload) => {
    const rounds = results[workload]?.rounds ?? [];
    const best = ratioOver(rounds, 'router', earlierRouterName, leastCpuTime);
    const median = ratioOver(rounds, 'router', earlierRouterName, cpuTime);
    if (best === undefined || median === undefined) return [];
    return [{ workload, best, median, verdict: verdictOf(best, unchanged) }];
  });
}

function treeRows(comparisons: readonly TreeComparison[], revision: string): Rows {
  return [
    ['', `best CPU × ${revision}`, 'median', ''],
    ...comparisons.map(({ workload, best, median, verdict }) => [
      workload,
      spreadText(best),
      spreadText(median),
      verdict,
    ]),
  ];
}
