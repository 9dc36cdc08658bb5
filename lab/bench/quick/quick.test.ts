import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cleanup } from '../../harness/cleanup.ts';
import { UsageError } from '../../harness/command-line.ts';
import { readResults } from '../../harness/results-file.ts';
import { roundOf, workloadOf } from '../report/throughput-figures.ts';
import { throughputResultsSchema } from '../throughput/results.ts';
import type { Workbench } from '../workbench.ts';
import { compareTrees } from './against.ts';
import { compareWithRecorded } from './compare.ts';
import { comparisonRows } from './comparison-table.ts';
import { differencesBetween, quickConditions, quickRounds, quickWorkloads } from './conditions.ts';
import { earlierRouter } from './earlier-router.ts';

const everyWorkload = (cpuTimes: Readonly<Record<string, number>>) =>
  Object.fromEntries(quickWorkloads.map((name) => [name, workloadOf([roundOf(cpuTimes)])]));

test('ratios that came about in another way are not compared', () => {
  const [name = 'http1-get'] = quickWorkloads;
  const now = everyWorkload({ router: 1, go: 1 });
  assert.deepEqual(differencesBetween(now, now), { decisive: [], worthKnowing: [] });
  const base = workloadOf([]);
  const otherwise = {
    passes: { ...base, passes: 7 },
    'warm-up': { ...base, warmUp: 1 },
    'length of a pass': { ...base, seconds: 2 },
  };
  for (const [aspect, results] of Object.entries(otherwise)) {
    const { decisive } = differencesBetween(now, { [name]: results });
    assert.match(decisive.join('; '), new RegExp(`^${aspect}: [^;]* recorded [^;]*$`), aspect);
  }
});

test('another machine or version is told once, and the ratios are compared all the same', () => {
  const now = everyWorkload({ router: 1, go: 1 });
  const base = workloadOf([roundOf({ router: 1, go: 1 })]);
  const elsewhere = {
    ...base,
    machine: { ...base.machine, processor: 'Other' },
    versions: { ...base.versions, go: '1.99' },
  };
  const { decisive, worthKnowing } = differencesBetween(
    now,
    Object.fromEntries(quickWorkloads.map((name) => [name, elsewhere])),
  );
  assert.deepEqual(decisive, []);
  assert.deepEqual(worthKnowing, [
    'processor: Example, 2 cores, recorded Other, 2 cores',
    'Go: 1.26, recorded 1.99',
  ]);
});

test('the table says what was measured, what was recorded, and what would be no change', () => {
  const [name = 'http1-get'] = quickWorkloads;
  const comparisons = compareWithRecorded(
    { [name]: workloadOf([roundOf({ router: 90, go: 50 })]) },
    { [name]: workloadOf([roundOf({ router: 40, go: 50 }), roundOf({ router: 50, go: 50 })]) },
    [name],
  );
  assert.deepEqual(comparisonRows(comparisons), [
    ['', 'best CPU × go now', 'recorded', 'unchanged is', ''],
    [name, '1.80', '0.90 (0.80–1.00)', '0.76–1.05', 'slower'],
  ]);
});

test('what is recorded was measured as a quick run measures now, in as many rounds as a recording has', async () => {
  const recorded = await readResults('quick', throughputResultsSchema);
  assert.ok(recorded);
  const conditions = quickWorkloads.map((name) => {
    const results = recorded.workloads[name];
    return (
      results && {
        passes: results.passes,
        warmUp: results.warmUp,
        seconds: results.seconds,
        rounds: results.rounds.length,
      }
    );
  });
  const expected = { ...quickConditions, rounds: quickRounds.recording };
  assert.deepEqual(
    conditions,
    quickWorkloads.map(() => expected),
  );
});

test('two trees are compared by their best passes, and within a twentieth they are the same', () => {
  const measured = (now: number) =>
    Object.fromEntries(
      quickWorkloads.map((name) => [name, workloadOf([roundOf({ router: now, 'router-earlier': 100 })])]),
    );
  const verdictsOf = (now: number): readonly string[] =>
    compareTrees(measured(now)).map(({ verdict }) => verdict);
  assert.deepEqual(new Set(verdictsOf(106)), new Set(['slower']));
  assert.deepEqual(new Set(verdictsOf(104)), new Set(['unchanged']));
  assert.deepEqual(new Set(verdictsOf(96)), new Set(['unchanged']));
  assert.deepEqual(new Set(verdictsOf(94)), new Set(['faster']));
  assert.equal(verdictsOf(94).length, quickWorkloads.length);
});

test('a workload in which one of two trees failed is not compared', () => {
  const alone = Object.fromEntries(
    quickWorkloads.map((name) => [name, workloadOf([roundOf({ router: 1 })])]),
  );
  assert.deepEqual(compareTrees(alone), []);
});

test('another revision is the router of its own tree, which is gone afterwards', async () => {
  const cleanup = new Cleanup();
  const contender = await earlierRouter('HEAD', cleanup);
  assert.match(contender.title, /^Mixed Version Proxy of [0-9a-f]{9}$/);
  assert.match((await contender.version({} as Workbench)) ?? '', /^\d+\.\d+\.\d+, Node /);
  await cleanup.run();
  await assert.rejects(contender.version({} as Workbench), { code: 'ENOENT' });
  await assert.rejects(earlierRouter('no such thing', new Cleanup()), UsageError);
});
