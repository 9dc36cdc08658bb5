import type { KubernetesVersionName } from '../../../demo/example-api-server/index.ts';
import type { SetUpName } from '../cluster/set-ups.ts';
import { detailsOf, underLoad } from '../record/under-load.ts';
import { SeededRandom } from '../seeded-random.ts';
import { type RollingUpgrade, rollingUpgrade, type UpgradeStep } from './rolling-upgrade.ts';
import type { SetUpOutcome } from './upgrade-results.ts';

interface UpgradeRun extends RollingUpgrade {
  readonly setUp: SetUpName;
  readonly from: KubernetesVersionName;
  readonly seed: number;
  /** Told of what happens as it happens. */
  readonly tell: (line: string) => void;
  readonly keepDirectory?: boolean;
  /** As in `ClientOptions`. */
  readonly settling?: number;
}

/** One whole upgrade of a fresh cluster under load. */
export async function runSetUp(run: UpgradeRun): Promise<SetUpOutcome> {
  const { setUp, from, tell, keepDirectory, settling } = run;
  const random = new SeededRandom(run.seed);
  const steps: UpgradeStep[] = [];
  const outcome = await underLoad(
    { setUp, versions: [from, from, from], random, tell, keepDirectory, settling },
    (cluster, seconds) =>
      rollingUpgrade(cluster, run, (step) => {
        steps.push(step);
        tell(`${seconds(step.at).toFixed(1).padStart(6)} s  ${step.title}`);
      }),
  );
  const { counts, findings, missed, seconds } = outcome;
  for (const { watcher, event } of missed.slice(0, 10)) {
    tell(`lost: ${watcher.resource.collection} ${event.type} ${event.object.metadata.name}`);
  }
  return {
    ...counts,
    timeline: findings.map(({ name, at }) => ({ name, at: seconds(at) })),
    details: detailsOf(findings, outcome),
    steps: steps.map(({ title, at }) => ({ title, at: seconds(at) })),
  };
}
