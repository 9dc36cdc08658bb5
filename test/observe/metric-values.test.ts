import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, mock, test } from 'node:test';
import { createSyncMetrics } from '../../src/cli/sync/process-endpoints.ts';
import { metricCatalogue } from '../../src/node/metrics/catalogue.ts';
import { processMetricNames } from '../../src/node/metrics/process-metrics.ts';
import { kubeApiServerManifest } from '../../src/own-paths/status/status-sources.ts';
import type { SyncStatus } from '../../src/sync/sync-loop.ts';
import { parseScrape, sampleValue } from '../support/prometheus-text.ts';
import {
  certificate,
  kubeconfig,
  newRouter,
  now,
  prefixed,
  type Router,
  type Row,
  rows,
} from './metric-rows.ts';

/** True of a router from its first moment on. */
const fromTheStart: readonly Omit<Row, 'event'>[] = [
  { name: prefixed('build_info'), labels: { version: 'v0.1.0', node_version: process.version }, value: 1 },
  {
    name: 'kubernetes_feature_enabled',
    labels: { name: 'UnknownVersionInteroperabilityProxy', stage: 'ALPHA' },
    value: 1,
  },
  { name: 'kubernetes_healthcheck', labels: { name: 'etcd', type: 'readyz' }, value: 0 },
];

const familyName = (name: string): string => name.replace(/(_seconds)_sum$/, '$1');

async function valueIn({ scraped }: Router, { name, labels = {} }: Omit<Row, 'event' | 'value'>) {
  const family = parseScrape(
    await scraped.scrape([{ endpoint: 'readyz', name: 'etcd', isHealthy: false }]),
  ).get(familyName(name));
  const samples = family?.samples.filter((sample) => sample.name === name) ?? [];
  return sampleValue(new Map(family && [[name, { ...family, samples }]]), name, labels);
}

describe('what happens shows in the value of its series', () => {
  before(() => mock.timers.enable({ apis: ['Date'], now }));
  after(() => mock.timers.reset());

  for (const row of rows) {
    test(`${row.name} ${JSON.stringify(row.labels ?? {})}`, async () => {
      const router = newRouter();
      const value = await valueIn(router, row);
      assert.notEqual(value, row.value, 'it is another one before');
      row.event(router);
      assert.equal(await valueIn(router, row), row.value);
    });
  }

  for (const { value, ...row } of fromTheStart) {
    test(row.name, async () => assert.equal(await valueIn(newRouter(), row), value));
  }

  test('a credential that is loaded, and a kube-apiserver that stays where it is, show 0', async () => {
    const router = newRouter();
    router.state.certificates = [certificate];
    router.state.keyFiles = [{ name: kubeApiServerManifest, path: '/m', lastError: null }];
    const failed = { name: prefixed('credential_file_reload_failed'), labels: kubeconfig };
    assert.equal(await valueIn(router, failed), 0);
    assert.equal(await valueIn(router, { name: prefixed('kube_apiserver_moved') }), 0);
  });

  test('no metric of the catalogue, of an alert or of a panel is without a row', () => {
    const root = resolve(import.meta.dirname, '../../deploy');
    const texts = ['helm/mixed-version-proxy/files/alerts.yaml', 'monitoring/dashboard.json'];
    const asked = texts.flatMap((file) =>
      [
        ...readFileSync(join(root, file), 'utf8').matchAll(
          /\b(?:mixed_version_proxy|apiserver|aggregator|kubernetes|process|nodejs)_\w+/g,
        ),
      ].map(([name]) => name.replace(/_bucket$/, '')),
    );
    const known = new Set([
      ...[...rows, ...fromTheStart].map(({ name }) => familyName(name)),
      ...processMetricNames,
      ...Object.keys(syncValues),
    ]);
    const catalogue = metricCatalogue.flatMap(({ metrics }) => metrics.map(({ name }) => name));
    assert.deepEqual(
      [...new Set([...catalogue, ...asked])].filter((name) => !known.has(name)),
      [],
    );
  });
});

/** Values of a sync job that has delivered once to each of two routers, and read one server of three. */
const syncValues: Readonly<Record<string, readonly [Readonly<Record<string, string>>, number]>> = {
  [prefixed('sync_generation')]: [{}, 4],
  [prefixed('sync_last_successful_delivery_timestamp_seconds')]: [{ target: 'one' }, now / 1000 - 60],
  [prefixed('sync_deliveries_total')]: [{ target: 'two', result: 'refused' }, 1],
  [prefixed('sync_delivery_duration_seconds_sum')]: [{ target: 'one' }, 0.25],
  [prefixed('sync_read_duration_seconds_sum')]: [{ result: 'failure' }, 2],
  [prefixed('sync_servers')]: [{ state: 'untried' }, 2],
  [prefixed('sync_last_round_timestamp_seconds')]: [{}, now / 1000],
};

describe('what happens to a sync job shows in the value of its series', () => {
  const metrics = createSyncMetrics();
  metrics.delivered({ target: 'one', seconds: 0.25, result: 'accepted' });
  metrics.delivered({ target: 'two', seconds: 0.5, result: 'refused' });
  metrics.serverRead({ seconds: 2, result: 'failure' });
  const status: SyncStatus = {
    generation: 4,
    lastRoundAt: now,
    lastReadAt: now,
    servers: (['untried', 'untried', 'ready'] as const).map((state, index) => ({
      id: `${index}`,
      state,
      failure: undefined,
    })),
    warnings: [],
    refusedAddresses: [],
    targets: [
      { target: 'one', heldGeneration: 4, lastResult: undefined, failures: 0, lastAcceptedAt: now - 60_000 },
    ],
  };
  for (const [name, [labels, value]] of Object.entries(syncValues)) {
    test(name, async () => {
      const found = parseScrape(await metrics.text(status)).get(familyName(name));
      const samples = found?.samples.filter((sample) => sample.name === name) ?? [];
      assert.equal(sampleValue(new Map(found && [[name, { ...found, samples }]]), name, labels), value);
    });
  }
});
