import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExposedFamily } from '../metrics/metric-family.ts';
import { createMetricRegistry, type MetricRegistry } from '../metrics/metric-registry.ts';
import { addCounts, mergeReports, withoutGoneDestinations } from './merge-reports.ts';
import { type MetricsReport, reportOf } from './metrics-report.ts';

/** The report of a process that has counted this. */
function processThat(counts: (registry: MetricRegistry) => void, destinations = ['cp-a']): MetricsReport {
  const registry = createMetricRegistry();
  counts(registry);
  const families = Object.values(registry).flatMap((group) => Object.values<ExposedFamily>(group));
  return reportOf(families, destinations);
}

function numbers({ families }: MetricsReport, name: string, labels = ''): number[] | undefined {
  const series = families.find((family) => family.name === name)?.series ?? [];
  return series
    .find(([own]) => own === labels)
    ?.slice(1)
    .map(Number);
}

const one = processThat(({ requests, destinations, state, slis }) => {
  requests.upgrades.with().add(2);
  requests.tunnels.with().add(1);
  requests.routingDuration.with().observe(0.0002);
  destinations.health.with('cp-a', 'healthy').set(1);
  state.snapshotGeneration.with().set(7);
  state.snapshotAge.with().set(30);
  state.processes.with('answering').set(1);
  slis.healthcheck.with('ping', 'readyz').set(1);
  slis.healthchecks.with('ping', 'readyz', 'success').add(4);
});
const other = processThat(({ requests, destinations, state, slis }) => {
  requests.upgrades.with().add(3);
  requests.tunnels.with().add(4);
  requests.routingDuration.with().observe(5);
  destinations.health.with('cp-a', 'unhealthy').set(1);
  state.snapshotGeneration.with().set(6);
  state.snapshotAge.with().set(90);
  state.processes.with('answering').set(1);
  slis.healthcheck.with('ping', 'readyz').set(0);
  slis.healthchecks.with('ping', 'readyz', 'success').add(5);
});
const health = 'mixed_version_proxy_destination_health';

test('counters and histograms are added up, bucket by bucket', () => {
  const merged = mergeReports({ own: one, others: [other], countsOnly: [] });
  assert.deepEqual(numbers(merged, 'mixed_version_proxy_upgrades_total'), [5]);
  assert.deepEqual(
    numbers(merged, 'mixed_version_proxy_routing_duration_seconds'),
    [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 5.0002, 2],
  );
});

test('gauges are put together by what they mean', () => {
  const merged = mergeReports({ own: one, others: [other], countsOnly: [] });
  assert.deepEqual(numbers(merged, 'mixed_version_proxy_open_tunnels'), [5], 'a sum');
  assert.deepEqual(numbers(merged, 'mixed_version_proxy_snapshot_generation'), [6], 'who is behind');
  assert.deepEqual(numbers(merged, 'mixed_version_proxy_snapshot_age_seconds'), [90], 'the oldest');
  assert.deepEqual(numbers(merged, 'mixed_version_proxy_processes', 'state="answering"'), [2]);
  for (const status of ['healthy', 'unhealthy']) {
    const labels = `destination="cp-a",status="${status}"`;
    assert.deepEqual(numbers(merged, health, labels), [1], 'what any process sees');
  }
});

test('the readiness of a process is its own, whoever else is asked; how often it was checked is not', () => {
  const labels = 'name="ping",type="readyz"';
  for (const [own, others, value] of [
    [one, [other], 1],
    [other, [one], 0],
  ] as const) {
    const merged = mergeReports({ own, others, countsOnly: [] });
    assert.deepEqual(numbers(merged, 'kubernetes_healthcheck', labels), [value]);
    assert.deepEqual(numbers(merged, 'kubernetes_healthchecks_total', `${labels},status="success"`), [9]);
  }
});

test('of a process that has ended, or is silent, the counts alone count', () => {
  const merged = mergeReports({ own: one, others: [], countsOnly: [other] });
  assert.deepEqual(numbers(merged, 'mixed_version_proxy_upgrades_total'), [5]);
  assert.deepEqual(numbers(merged, 'mixed_version_proxy_open_tunnels'), [1]);
  assert.deepEqual(numbers(merged, 'mixed_version_proxy_snapshot_generation'), [7]);
  assert.equal(numbers(merged, health, 'destination="cp-a",status="unhealthy"'), undefined);
});

test('the counts of processes that ended one after the other add up', () => {
  const ended = addCounts([addCounts([one]), other, one]);
  assert.deepEqual(numbers(ended, 'mixed_version_proxy_upgrades_total'), [7]);
  assert.equal(numbers(ended, 'mixed_version_proxy_open_tunnels'), undefined);
});

test('the series of a destination that is gone go with it, whatever its ID looks like', () => {
  const hostile = 'a",destination="cp-a';
  const report = processThat(({ requests, destinations }) => {
    requests.upgrades.with().add(1);
    for (const id of ['cp-a', 'cp-b', hostile])
      destinations.destinationRequests.with(id, 'peer', '200').add(1);
  });
  const name = 'mixed_version_proxy_destination_requests_total';
  const kept = (ids: readonly string[] | null): number => {
    const cleaned = withoutGoneDestinations(report, ids === null ? null : [...ids]);
    assert.deepEqual(numbers(cleaned, 'mixed_version_proxy_upgrades_total'), [1]);
    return cleaned.families.find((family) => family.name === name)?.series.length ?? 0;
  };
  assert.equal(kept(['cp-a']), 1);
  assert.equal(kept([hostile]), 1);
  assert.equal(kept([]), 0);
  assert.equal(kept(null), 3, 'nothing is known yet');
});
