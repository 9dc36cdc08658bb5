import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compareRuns, comparisonTables, type RunToCompare } from './comparison.ts';

const run = (way: RunToCompare['way'], turn: number, results: Record<string, boolean>): RunToCompare => ({
  way,
  run: turn,
  results: Object.fromEntries(
    Object.entries(results).map(([name, passed]) => [name, { outcome: passed ? 'passed' : 'failed' }]),
  ),
});

const runs = [
  run('server', 1, { same: true, older: true, pods: false }),
  run('server', 2, { same: true, older: true, pods: false }),
  run('router', 1, { same: true, older: true, pods: false }),
  run('balancer', 1, { same: true, older: false, pods: false }),
  run('balancer', 2, { same: true, older: true, pods: false }),
];
const reasons = [{ tests: /^older/, why: 'the older version lacks it' }];

describe('the comparison of ways in', () => {
  test('shows tests that pass on one server and not in every run elsewhere, with the reason', () => {
    assert.deepEqual(compareRuns(runs, reasons), [
      {
        name: 'older',
        passed: {
          server: { passed: 2, runs: 2 },
          router: { passed: 1, runs: 1 },
          balancer: { passed: 1, runs: 2 },
        },
        why: 'the older version lacks it',
      },
    ]);
  });

  test('counts what passed in each run', () => {
    const { counts, tests } = comparisonTables(runs, reasons);
    assert.match(counts, /\| `server` \| 2 of 3 \| 2 of 3 \|/);
    assert.match(counts, /\| `router` \| 2 of 3 \| {2}\|/);
    assert.match(tests, /\| older \| yes \| yes \| 1 of 2 \| the older version lacks it \|/);
  });
});
