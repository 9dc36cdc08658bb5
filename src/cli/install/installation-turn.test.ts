import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notItsTurn, takenTurn } from './control-plane.ts';

const now = new Date('2026-01-01T00:00:00.000Z');
const lease = (holder: string, duration = 60) => ({
  metadata: { resourceVersion: '1' },
  spec: takenTurn(holder, now, duration).spec,
});

test('a node has its turn when nobody has it, when it is its own of a run that was cut off, and when it has run out', () => {
  assert.equal(notItsTurn(lease(''), '10.0.0.1', now), undefined);
  assert.equal(notItsTurn(lease('10.0.0.1'), '10.0.0.1', now), undefined);
  assert.equal(notItsTurn(lease('10.0.0.2', 0), '10.0.0.1', now), undefined);
  const spec = { holderIdentity: '10.0.0.2', leaseDurationSeconds: 60, renewTime: '' };
  assert.equal(notItsTurn({ metadata: { resourceVersion: '1' }, spec }, '10.0.0.1', now), undefined);
});

test('while another node has its turn, it is told which one, until when, and what to do', () => {
  assert.match(
    notItsTurn(lease('10.0.0.2'), '10.0.0.1', now) ?? '',
    /^the node 10\.0\.0\.2 is being .*until 2026-01-01T00:01:00Z\): one node at a time\. Wait .* delete the Lease$/,
  );
});
