/** Runs seeds that it is sent, and tells what came of each. A process of its own: `node worker.ts [planted fault]`. */
import './virtual/globals.ts';
import type { SeedReport } from './run.ts';

const [planted] = process.argv.slice(2);
if (planted !== undefined && planted !== '') (await import('./planted/plant.ts')).plant(planted);
const { simulate } = await import('./simulate.ts');
const { planOf } = await import('./plan/plan.ts');
const { shrink } = await import('./plan/shrink.ts');
const { storyOf } = await import('./plan/words.ts');

process.on('disconnect', () => process.exit(0));
process.on('message', async ({ seed, tells }: { readonly seed: number; readonly tells: boolean }) => {
  const result = await simulate(planOf(seed), { stopsAtViolation: true });
  const [violation] = result.violations;
  const story: string[] = [];
  if (violation !== undefined && tells) {
    const shortest = await shrink(result, violation.kind);
    const [kept = violation] = shortest.violations.filter(({ kind }) => kind === violation.kind);
    story.push(...storyOf(shortest.plan), `  ${(kept.at / 1000).toFixed(2)} s  ${kept.kind}: ${kept.text}`);
  }
  const report: SeedReport = {
    seed,
    digest: result.digest,
    violation: violation && `${violation.kind}: ${violation.text}`,
    story,
    margins: [...result.margins],
    reached: [...result.reached.keys()],
  };
  process.send?.(report);
});
process.send?.('ready');
