import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ServerOptions, snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { statusOf, statusView } from '../../test/support/snapshots/status-view.ts';
import { upgradeOf } from './upgrade.ts';

const stateOf = (servers: Readonly<Record<string, ServerOptions>>) =>
  upgradeOf(statusOf(snapshotOf(servers)));

test('an upgrade has a share for each version, the oldest first, and counts apart who has left', () => {
  const young = { serves: ['v1/pods', 'batch/v1/jobs'], version: 'v1.36.0' };
  const { state, servers, departed, shares } = stateOf({
    d: young,
    c: { serves: ['v1/pods'], version: 'v1.9.0' },
    b: young,
    a: { ...young, version: 'v1.35.0' },
    e: { serves: young.serves },
    f: { ...young, departedAt: '2026-01-01T00:00:00Z' },
  });
  assert.deepEqual([state, servers, departed], ['mixed', 5, 1]);
  assert.deepEqual(shares, [
    { version: undefined, servers: 1 },
    { version: 'v1.9.0', servers: 1 },
    { version: 'v1.35.0', servers: 1 },
    { version: 'v1.36.0', servers: 2 },
  ]);
});

test('one version that serves different things is told from an upgrade, and both from a cluster at rest', () => {
  const version = 'v1.30.0';
  const differing = { a: { serves: ['v1/pods'], version }, b: { serves: ['v1/nodes'], version } };
  assert.equal(stateOf(differing).state, 'differing');
  assert.equal(stateOf({ ...differing, b: differing.a }).state, 'uniform');
  assert.equal(upgradeOf(statusView(null)).servers, 0);
});
