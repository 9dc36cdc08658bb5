import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import type { RefusedAddress } from '../../snapshot/receiving/refused-addresses.ts';
import { buildRoutingTable, renewedTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { RouterMetrics } from './router-metrics.ts';

function metricsOf(refusedAddresses: readonly RefusedAddress[] = []) {
  const metrics = new RouterMetrics({ featureGateEnabled: true, version: 'v0.1.0' });
  const { scrape } = metrics.scrapedWith({
    refusedAddresses: () => refusedAddresses,
    credentialFiles: { certificates: () => [], keyFiles: () => [] },
    embeddedSync: () => undefined,
    inFlight: () => 0,
    retryBudget: () => 0,
    heldBytes: () => 0,
    health: () => [],
  });
  return { metrics, scrape };
}

test('a server without an address counts once for each snapshot, not with each renewal', async () => {
  const { metrics, scrape } = metricsOf();
  const unresolved = async () =>
    /peer_discovery_sync_errors_total\{type="hostport_resolution"\} (\d+)/.exec(await scrape([]))?.[1];
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

test('addresses that are left out are counted', async () => {
  const count = async (refused: readonly RefusedAddress[]) =>
    /proxy_refused_addresses (\d+)/.exec(await metricsOf(refused).scrape([]))?.[1];
  const refused = { id: 'a', address: '127.0.0.1:6443', reason: 'is a loopback address' };
  assert.deepEqual([await count([]), await count([refused, refused])], ['0', '2']);
});

test('routers that know the same have one hash of it, whatever generation each has', async () => {
  const hashOf = async (generation: number, servers: Parameters<typeof snapshotOf>[0]) => {
    const { metrics, scrape } = metricsOf();
    metrics.tableInUse(buildRoutingTable(snapshotOf(servers, { generation })), []);
    return /snapshot_content_info\{hash="([^"]+)"\} 1/.exec(await scrape([]))?.[1];
  };
  const first = await hashOf(1, { a: ['v1/pods'], b: ['v1/pods', 'batch/v1/jobs'] });
  assert.match(first ?? '', /^sha256:[0-9a-f]{64}$/);
  assert.equal(await hashOf(9, { b: ['v1/pods', 'batch/v1/jobs'], a: ['v1/pods'] }), first);
  assert.notEqual(await hashOf(1, { a: ['v1/pods'], b: ['v1/pods'] }), first);
});
