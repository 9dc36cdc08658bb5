import { metricCatalogue } from '../../src/node/metrics/catalogue.ts';
import type { MetricDefinition } from '../../src/node/metrics/metric-family.ts';
import { processMetricNames } from '../../src/node/metrics/process-metrics.ts';

/** docs/reference/metrics.md, from the catalogue. */
export function metricsPage(): string {
  const sections = metricCatalogue.flatMap(({ heading, metrics }) => [
    `## ${heading}`,
    '',
    ...table(metrics),
    '',
  ]);
  return `${[...introduction, ...sections, ...ofProcess].join('\n').trimEnd()}\n`;
}

const introduction = [
  '# Metrics',
  '',
  '<!-- Written by `npm run generate` from src/node/metrics/catalogue.ts. Change that, not this page. -->',
  '',
  'Every metric of the router. They are served under `/.mixed-version-proxy/metrics` on the serving port, for the ClusterRole `mixed-version-proxy-monitor`, and under `/metrics` at the [admin address](../guides/monitoring.md#the-admin-address), in the text format of Prometheus. How to scrape: [monitoring](../guides/monitoring.md#metrics).',
  '',
  "Names that begin with `apiserver_`, `aggregator_` or `kubernetes_` have Kubernetes' labels and meaning. All are ALPHA.",
  '',
  'Labels cannot be made up by clients: group, version and resource are from the snapshot, or `other`; series of a destination or resource go with it. A metric has at most 5,000 series; what comes later keeps `code`, `verb` and `source`, has `other` in all other labels, and is counted in `mixed_version_proxy_folded_series_total`.',
  '',
];

function table(metrics: readonly MetricDefinition[]): string[] {
  return ['| metric | type | labels | meaning |', '|---|---|---|---|', ...metrics.map(row)];
}

const ofProcess = [
  '## Process',
  '',
  'As Prometheus clients of Node.js have them; that of the event loop is the longest stop of the last minute.',
  '',
  `${processMetricNames.map((name) => `\`${name}\``).join(', ')}.`,
];

function row({ name, type, help, labels, buckets }: MetricDefinition): string {
  const labelList = labels.length === 0 ? '' : labels.map((label) => `\`${label}\``).join(', ');
  const bounds = buckets === undefined ? '' : ` Buckets from ${buckets[0]} to ${buckets.at(-1)}.`;
  return `| \`${name}\` | ${type} | ${labelList} | ${escapeCell(help)}${bounds} |`;
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
