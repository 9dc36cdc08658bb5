import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultsOf } from '../../scripts/experiment/record/verdict.ts';
import { paces } from '../../scripts/experiment/upgrade/paces.ts';
import { runSetUp } from '../../scripts/experiment/upgrade/run-set-up.ts';

test('a short upgrade of three servers behind gateways: no client gets to feel it', async (context) => {
  const outcome = await runSetUp({
    setUp: 'gateway',
    from: '1.25',
    to: '1.26',
    serverEnd: 'drained',
    seed: 4020,
    pace: paces.quick,
    // How soon is for the experiment to measure; here the machine may be busy with anything.
    settling: 60_000,
    tell: (line) => context.diagnostic(line),
  });
  assert.deepEqual(faultsOf(outcome), [], outcome.details.join('\n'));
  assert.equal(outcome.steps.filter(({ title }) => title.endsWith('is 1.26')).length, 3);
  assert.ok(outcome.created > 0, 'writes were made');
  assert.ok(outcome.watchRestarts > 0, 'watches went on through another way');
});
