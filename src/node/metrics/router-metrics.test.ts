import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { buildRoutingTable, renewedTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { RouterMetrics } from './router-metrics.ts';

test('a server without an address counts once for each snapshot, not with each renewal', async () => {
  const process = { version: 'v0.1.0', nodeVersion: 'v26.0.0', startedAt: 0, configHash: '', flags: {} };
  const metrics = new RouterMetrics({ featureGateEnabled: true }, process, {
    table: () => undefined,
    credentialFiles: { certificates: () => [], keyFiles: () => [] },
    needsRestart: () => [],
    embeddedSync: () => undefined,
    retryBudget: () => 0,
    health: () => [],
  });
  const unresolved = async () =>
    /peer_discovery_sync_errors_total\{type="hostport_resolution"\} (\d+)/.exec(
      (await metrics.scrape('text/plain')).text,
    )?.[1];
  const servers = { a: ['v1/pods'], b: { serves: ['v1/pods'], withoutAddress: true } };
  const table = buildRoutingTable(snapshotOf(servers));
  metrics.tableInUse(table, []);
  for (let minute = 1; minute <= 10; minute++) {
    metrics.tableInUse(renewedTable(table, new Date(minute * 60_000).toISOString()), []);
  }
  assert.equal(await unresolved(), '1');
  metrics.tableInUse(buildRoutingTable(snapshotOf(servers, { generation: 2 })), []);
  assert.equal(await unresolved(), '2');
});
