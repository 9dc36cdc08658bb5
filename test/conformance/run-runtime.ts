import { allCases } from './cases/index.ts';
import { startCluster } from './cluster.ts';
import type { ConformanceCase } from './conformance-case.ts';
import { type Findings, type Outcome, reservationFor, roundsOf, runCase, startRound } from './run-cases.ts';
import type { ConformanceRuntime } from './runtime.ts';

/** Outcome of every case on one runtime, by case ID, and the findings on the way. */
export interface RuntimeReport {
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly findings: Findings;
}

/** Runs all cases on `runtime`, one router for each round. @throws when a router does not start. */
export async function runRuntime(
  runtime: ConformanceRuntime,
  findings: Findings,
  cases: readonly ConformanceCase[] = allCases,
): Promise<RuntimeReport> {
  const outcomes = new Map<string, Outcome>();
  for (const each of cases) {
    const reservation = reservationFor(runtime, each);
    if (reservation !== undefined) outcomes.set(each.id, reservation);
  }
  const cluster = await startCluster();
  try {
    for (const round of roundsOf(runtime, cases)) {
      const running = await startRound(runtime, round, cluster);
      try {
        for (const each of round.cases) {
          outcomes.set(
            each.id,
            await runCase(each, running, cluster, findings).then(
              (): Outcome => ({ kind: 'holds' }),
              (error: unknown): Outcome => ({ kind: 'fails', error }),
            ),
          );
        }
      } finally {
        await running.close();
      }
    }
  } finally {
    await cluster.close();
  }
  return { outcomes, findings };
}
