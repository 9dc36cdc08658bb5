import { metricCatalogue } from '../../src/node/metrics/catalogue.ts';
import type { MetricDefinition } from '../../src/node/metrics/definition.ts';

/** docs/reference/metrics.md, from the catalogue. */
export function metricsPage(): string {
  const sections = metricCatalogue.flatMap(({ heading, path, metrics }) => [
    `## ${heading}`,
    '',
    ...(path === '/metrics'
      ? []
      : [`Served under \`/.mixed-version-proxy${path}\`, and under \`${path}\` at the admin address.`, '']),
    '| metric | type | stability | labels | what it says |',
    '|---|---|---|---|---|',
    ...metrics.map(row),
    '',
  ]);
  return `${[...introduction, ...sections].join('\n').trimEnd()}\n`;
}

const introduction = [
  '# Metrics',
  '',
  '<!-- Written by `npm run docs:reference` from src/node/metrics/catalogue.ts. Change that, not this page. -->',
  '',
  "The router serves its metrics under `/.mixed-version-proxy/metrics` on its serving port and under `/metrics` at the [admin address](admin-address.md), in the text format of Prometheus, or as OpenMetrics to whoever asks for it. On the serving port the caller has to be one of those who may use the router's own paths (`--allowed-users`, `--allowed-groups`), or in the group `system:monitoring`. `--enable-metrics=false` turns them off.",
  '',
  "Names that begin with `apiserver_`, `aggregator_` or `kubernetes_` are upstream's, with its labels and its meaning, so that dashboards carry over. What is new, or means something else in a router, begins with `mixed_version_proxy_`.",
  '',
  'Labels hold nothing that a client can make up: group, version and resource are those of the snapshot, or `other`; destinations are those of the snapshot, and their series go when they do. As a last wall a metric has at most 5,000 series; what comes later counts under `other`.',
  '',
];

function row({ name, type, stability, help, labels, buckets }: MetricDefinition): string {
  const labelList = labels.length === 0 ? '' : labels.map((label) => `\`${label}\``).join(', ');
  const bounds = buckets === undefined ? '' : ` Buckets: ${buckets.join(', ')}.`;
  return `| \`${name}\` | ${type} | ${stability} | ${labelList} | ${escapeCell(help)}${bounds} |`;
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
