import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import * as v from 'valibot';
import { parse } from 'yaml';
import { createSyncMetrics } from '../../src/cli/sync/process-endpoints.ts';
import { metricCatalogue } from '../../src/node/metrics/catalogue.ts';
import { processMetricNames } from '../../src/node/metrics/process-metrics.ts';

/** Labels that Prometheus itself puts to what it scrapes. */
const scrapeLabels = ['job', 'instance'];

/**
 * Labels by name of a series, of everything that routers and sync jobs expose: the router's from its catalogue, the
 * sync job's from what it answers when every kind of thing has happened once.
 */
async function knownMetrics(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const known = new Map<string, Set<string>>([['up', new Set(scrapeLabels)]]);
  for (const { metrics } of metricCatalogue) {
    for (const { name, type, labels } of metrics) {
      if (type === 'histogram') known.set(`${name}_bucket`, new Set([...labels, ...scrapeLabels, 'le']));
      else known.set(name, new Set([...labels, ...scrapeLabels]));
    }
  }
  for (const name of processMetricNames) known.set(name, new Set(scrapeLabels));
  for (const line of (await syncMetricsText()).split('\n')) {
    const [, name = '', labels = ''] = /^(mixed_version_proxy_sync_\w+)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === '') continue;
    const names = [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label);
    known.set(name, new Set([...names, ...scrapeLabels]));
  }
  return known;
}

async function syncMetricsText(): Promise<string> {
  const metrics = createSyncMetrics();
  metrics.serverRead({ seconds: 1, result: 'success' });
  metrics.delivered({ target: 'router', seconds: 1, result: 'accepted' });
  return metrics.text({
    generation: 1,
    lastRoundAt: 1,
    lastReadAt: 1,
    servers: [],
    warnings: [],
    refusedAddresses: [],
    targets: [{ target: 'router', heldGeneration: 1, lastResult: undefined, failures: 0, lastAcceptedAt: 1 }],
  });
}

/** Names in a PromQL expression. */
interface ExpressionNames {
  /** Metrics, histograms without `_bucket`, `_sum` and `_count`. */
  readonly metrics: readonly string[];
  /** Labels in selectors and after `by` and `on`. */
  readonly labels: readonly string[];
}

const words: ReadonlySet<string> = new Set(['by', 'and', 'or', 'unless', 'on', 'ignoring', 'bool']);

/** For the expressions of this repository: no `without`, `@`, `offset` or `label_replace`. `promtool` checks the syntax. */
function namesIn(expression: string): ExpressionNames {
  const labels: string[] = [];
  const rest = expression
    .replace(/\[[^\]]*\]/g, ' ')
    .replace(/\{([^}]*)\}/g, (_, selector: string) => {
      for (const [, label = ''] of selector.matchAll(/(\w+)\s*(?:=~|!=|!~|=)\s*"[^"]*"/g)) labels.push(label);
      return ' ';
    })
    .replace(/\b(?:by|on)\s*\(([^)]*)\)/g, (_, list: string) => {
      labels.push(...(list.match(/\w+/g) ?? []));
      return ' ';
    });
  const metrics = [...rest.matchAll(/\b([a-z_]\w*)\b(?!\s*\()/gi)].map(([, name = '']) => name);
  return { metrics: metrics.filter((name) => !words.has(name)), labels };
}

const root = resolve(import.meta.dirname, '../..');
const folder = join(root, 'deploy/monitoring');
/** In the chart, which cannot read a file outside of itself. */
const rulesFile = join(root, 'deploy/helm/mixed-version-proxy/files/alerts.yaml');
const known = await knownMetrics();

const alertSchema = v.strictObject({
  alert: v.pipe(v.string(), v.regex(/^MixedVersionProxy[A-Za-z]+$/)),
  expr: v.string(),
  for: v.optional(v.pipe(v.string(), v.regex(/^\d+[sm]$/))),
  labels: v.strictObject({ severity: v.picklist(['critical', 'warning']) }),
  annotations: v.strictObject({ summary: v.string(), runbook_url: v.string() }),
});
const { groups } = v.parse(
  v.strictObject({ groups: v.array(v.strictObject({ name: v.string(), rules: v.array(alertSchema) })) }),
  parse(readFileSync(rulesFile, 'utf8')),
);
const alerts = groups.flatMap(({ rules }) => rules);
/** The text of each, by the heading above it. */
const runbooks = new Map(
  readFileSync(join(root, 'docs/guides/runbooks.md'), 'utf8')
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split('\n')[0] ?? '', section.slice(section.indexOf('\n') + 1)]),
);

/** Names in an expression that nothing exposes. */
function faultsOf(expression: string): readonly string[] {
  const { metrics, labels } = namesIn(expression);
  const labelsThere = new Set(metrics.flatMap((metric) => [...(known.get(metric) ?? [])]));
  return [
    ...metrics.filter((metric) => !known.has(metric)).map((metric) => `there is no metric ${metric}`),
    ...labels
      .filter((label) => !labelsThere.has(label))
      .map((label) => `no metric in it has a label ${label}`),
  ];
}

describe('alerts', () => {
  test('ask only for metrics and labels that routers and sync jobs expose', () => {
    for (const { alert, expr } of alerts) {
      assert.ok(namesIn(expr).metrics.length > 0, alert);
      assert.deepEqual(faultsOf(expr), [], alert);
    }
  });

  test('a metric or a label that does not exist would be noticed', () => {
    assert.deepEqual(faultsOf('rate(mixed_version_proxy_requests{code="503"}[5m]) > 0'), [
      'there is no metric mixed_version_proxy_requests',
      'no metric in it has a label code',
    ]);
    assert.deepEqual(faultsOf('sum by (server) (mixed_version_proxy_destination_health)'), [
      'no metric in it has a label server',
    ]);
  });

  test('each has a name of its own and a runbook, and each runbook an alert', () => {
    const names = alerts.map(({ alert }) => alert);
    assert.equal(new Set(names).size, names.length);
    for (const { alert, annotations } of alerts) {
      assert.equal(annotations.runbook_url, `docs/guides/runbooks.md#${alert.toLowerCase()}`);
    }
    assert.deepEqual([...runbooks.keys()].sort(), names.sort());
  });

  test('each runbook says what the alert means, how to find the cause and what to do, in this order', () => {
    for (const [alert, text] of runbooks) {
      assert.match(text, /^\n[^`\n][^\n]+\n\n```sh cluster\n[^`]+\n```\n\n- /, alert);
    }
  });

  test('summaries name only labels that the expression leaves', () => {
    for (const { alert, expr, annotations } of alerts) {
      const { metrics, labels } = namesIn(expr);
      const there = / by \(|^sum\(|^\(sum/.test(expr)
        ? labels
        : metrics.flatMap((metric) => [...(known.get(metric) ?? [])]);
      for (const [, label = ''] of annotations.summary.matchAll(/\$labels\.(\w+)/g)) {
        assert.ok(there.includes(label), `${alert}: ${label}`);
      }
    }
  });

  const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;
  test('promtool takes the rules and their unit tests', {
    skip: hasPromtool ? false : 'promtool is not on PATH (Debian: apt install prometheus)',
  }, () => {
    execFileSync('promtool', ['check', 'rules', rulesFile], { cwd: folder, stdio: 'pipe' });
    execFileSync('promtool', ['test', 'rules', 'alerts.test.yaml'], { cwd: folder, stdio: 'pipe' });
  });
});

/** Fields of a Grafana panel that are looked at; rows have no queries. */
const dashboardSchema = v.object({
  panels: v.array(
    v.object({
      title: v.string(),
      targets: v.optional(
        v.array(v.object({ expr: v.string(), legendFormat: v.optional(v.string(), '') })),
        [],
      ),
    }),
  ),
});

describe('the dashboard', () => {
  const { panels } = v.parse(
    dashboardSchema,
    JSON.parse(readFileSync(join(folder, 'dashboard.json'), 'utf8')),
  );

  test('asks only for metrics and labels that routers and sync jobs expose, and shows labels that are left', () => {
    assert.ok(panels.some(({ targets }) => targets.length > 0));
    for (const { title, targets } of panels) {
      for (const { expr, legendFormat } of targets) {
        assert.deepEqual(faultsOf(expr), [], title);
        const { labels } = namesIn(expr);
        for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
          assert.ok(labels.includes(label), `${title}: ${label}`);
        }
      }
    }
  });
});
