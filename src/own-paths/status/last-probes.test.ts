import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerHealth } from '../../health/server-health.ts';
import { LastProbes } from './last-probes.ts';

test('the last probe of a server is kept for as long as it is followed', () => {
  const health = new ServerHealth({ rise: 1, fall: 1, slowStart: 0, monotonic: () => 0 });
  let now = 1000;
  const probes = new LastProbes(health, () => now);
  health.observe(probes);
  health.follow('a');
  assert.equal(probes.of('a'), undefined);
  health.probed('a', 'ready', 4);
  now = 2000;
  health.probed('a', 'unreachable', 5);
  assert.deepEqual(probes.of('a'), { outcome: 'unreachable', at: 2000, milliseconds: 5 });
  health.unfollow('a');
  assert.equal(probes.of('a'), undefined);
  // A server that comes lets go of those that went: one under the old ID is a new one.
  health.follow('b');
  health.probed('b', 'ready', 1);
  health.follow('a');
  assert.equal(probes.of('a'), undefined);
});
