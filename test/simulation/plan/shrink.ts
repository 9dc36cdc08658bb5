import { type SimulationResult, simulate } from '../simulate.ts';
import type { Plan } from './plan.ts';

/** The plan without a part of its events, and then without clocks that are wrong. */
function smaller(plan: Plan, size: number): readonly Plan[] {
  const plans: Plan[] = [];
  for (let begin = 0; begin < plan.events.length; begin += size) {
    plans.push({ ...plan, events: plan.events.toSpliced(begin, size) });
  }
  if (size > 1) return plans;
  if (Object.keys(plan.clocks).length > 0) plans.push({ ...plan, clocks: {} });
  for (const node of Object.keys(plan.clocks)) {
    const { [node]: _own, ...clocks } = plan.clocks;
    plans.push({ ...plan, clocks });
  }
  if (plan.hasDefinition) plans.push({ ...plan, hasDefinition: false });
  if (!plan.hasLeases) plans.push({ ...plan, hasLeases: true });
  return plans;
}

/**
 * Takes events out of a plan while the same kind of violation stays: halves, quarters, single ones. Chance goes by names, so
 * what is left draws as it did.
 * @param tries at most
 */
export async function shrink(failed: SimulationResult, kind: string, tries = 120): Promise<SimulationResult> {
  let best = failed;
  let left = tries;
  let size = Math.max(1, Math.ceil(failed.plan.events.length / 2));
  for (;;) {
    let isSmaller = false;
    for (const plan of smaller(best.plan, size)) {
      if (left === 0) return best;
      left--;
      const result = await simulate(plan, { keepsLines: true, stopsAtViolation: true });
      if (!result.violations.some((violation) => violation.kind === kind)) continue;
      best = result;
      isSmaller = true;
      break;
    }
    if (isSmaller) continue;
    if (size === 1) return best;
    size = Math.ceil(size / 2);
  }
}
