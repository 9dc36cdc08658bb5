import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import * as v from 'valibot';
import { parse } from 'yaml';
import { namesIn } from './support/expression-names.ts';
import { knownMetrics } from './support/known-metrics.ts';

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

/** What an expression names that nothing exposes. */
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

/** What is looked at of a panel of Grafana; rows have no queries. */
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
