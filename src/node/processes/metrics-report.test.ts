import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v from 'valibot';
import { expose } from '../metrics/exposition.ts';
import { createMetricRegistry } from '../metrics/metric-registry.ts';
import { processFamilies } from '../metrics/process-metrics.ts';
import { familiesOf, metricsReportSchema, reportOf } from './metrics-report.ts';

test('families are the same after they went from process to process', async () => {
  const { requests, destinations, state } = createMetricRegistry();
  requests.decisions.with('local', 'a "quoted" \\ reason').add(3);
  destinations.destinationDuration.with('cp-a', 'local').observe(0.3);
  destinations.destinationDuration.with('cp-a', 'local').observe(1_000);
  state.snapshotAge.with().set(-1.5);
  const families = [
    ...Object.values(requests),
    ...Object.values(destinations),
    ...Object.values(state),
    ...(await processFamilies()),
  ];
  const report = JSON.parse(JSON.stringify(reportOf(families, ['cp-a'])));
  const arrived = familiesOf(v.parse(metricsReportSchema, report));
  assert.equal(expose(arrived, 'text').text, expose(families, 'text').text);
});

test('what JSON has no number for is left out, and so is what the catalogue does not know', () => {
  const { state } = createMetricRegistry();
  state.snapshotAge.with().set(Number.NaN);
  const report = reportOf([state.snapshotAge], undefined);
  assert.deepEqual(report, {
    destinations: null,
    families: [{ name: 'mixed_version_proxy_snapshot_age_seconds', series: [] }],
  });
  const unknown = { destinations: null, families: [{ name: 'made_up_total', series: [['', 1]] }] };
  assert.deepEqual(familiesOf(v.parse(metricsReportSchema, unknown)), []);
});

test("a series of another length than the catalogue's is no sample", () => {
  const name = 'mixed_version_proxy_routing_duration_seconds';
  const [family] = familiesOf({ destinations: null, families: [{ name, series: [['', 1, 2]] }] });
  assert.deepEqual([...(family?.samples() ?? [])], []);
});
