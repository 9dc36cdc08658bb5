import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { snapshotOf } from '../../test/support/snapshot-builder.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import { decide } from './decide.ts';
import type { DecisionContext } from './decision.ts';

const serves = ['v1/pods'];
const mixed = buildRoutingTable(
  snapshotOf({
    'older-1': { serves, version: 'v1.35.1' },
    'older-2': { serves, version: 'v1.35.1' },
    'newest-1': { serves, version: 'v1.36.0' },
    'newest-2': { serves, version: 'v1.36.2' },
  }),
);

function decided(changes: Partial<DecisionContext>, { table = mixed, method = 'GET' } = {}) {
  const { decision, reason, candidates } = decide(parseRequestInfo(method, '/openapi/v2'), table, {
    reroutedByVerifiedPeer: false,
    ...changes,
  });
  return `${decision} ${reason} ${candidates.map(({ id }) => id).join()}`.trim();
}

describe('OpenAPI v2', () => {
  test('is the local server’s where that is of the newest version', () => {
    assert.equal(decided({ serverId: 'newest-2' }), 'local NotAResourceRequest');
  });

  test('comes from servers of the newest version, whichever version is preferred', () => {
    const fromNewest = 'peer MergedDocument newest-1,newest-2';
    for (const version of ['majority', 'oldest', 'local'] as const) {
      const preferredVersion = { version, scope: 'differing', required: false } as const;
      assert.equal(decided({ serverId: 'older-1', preferredVersion }), fromNewest, version);
      assert.equal(decided({ preferredVersion }), fromNewest, version);
    }
    assert.equal(decided({ serverId: 'older-1' }, { method: 'HEAD' }), fromNewest);
  });

  test('comes from another server of the newest version while the local one is down', () => {
    const down = { serverId: 'newest-1', localServerIsDown: true };
    assert.equal(decided(down), 'peer MergedDocument newest-2');
  });

  test('comes from an older server, the local one before others, where no newest one has an address', () => {
    const table = buildRoutingTable(
      snapshotOf({
        a: { serves, version: 'v1.35.1' },
        b: { serves, version: 'v1.35.1' },
        c: { serves, version: 'v1.36.0', withoutAddress: true },
      }),
    );
    assert.equal(decided({ serverId: 'b' }, { table }), 'peer MergedDocument b,a');
    assert.equal(decided({}, { table }), 'peer MergedDocument a,b');
  });

  test('is the local server’s own for a peer that has rerouted the request, and while no version is known', () => {
    const rerouted = { serverId: 'older-1', reroutedByVerifiedPeer: true };
    assert.equal(decided(rerouted), 'local AlreadyRerouted');
    const table = buildRoutingTable(snapshotOf({ a: serves, b: serves }));
    assert.equal(decided({ serverId: 'a' }, { table }), 'local NotAResourceRequest');
    assert.equal(decided({}, { table }), 'peer NotAResourceRequest a,b');
  });
});
