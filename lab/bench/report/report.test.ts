import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, ValiError } from 'valibot';
import { replaceBetweenMarkers } from '../../../scripts/generate/markers.ts';
import { readResults } from '../../harness/results-file.ts';
import { figure, spreadText } from '../../report/format.ts';
import { markdownTable, terminalTable } from '../../report/text-table.ts';
import { throughputResultsSchema } from '../throughput/results.ts';
import { throughputRows } from '../throughput/throughput-table.ts';
import { watchResultsSchema } from '../watches/watch-results.ts';
import { barChart } from './bar-chart.ts';
import { benchReport, fillPage, root, tablesPage } from './bench-report.ts';
import { performanceChart } from './performance-chart.ts';
import { resultsOf, roundOf, workloadOf } from './throughput-figures.ts';

const docs = join(root, 'docs');
const results = resultsOf({
  'http1-get': workloadOf([
    roundOf({ direct: 0, router: 60, go: 40 }),
    roundOf({ direct: 0, router: 90, go: 45 }),
  ]),
});

test('figures have as many digits as can mean something', () => {
  assert.deepEqual([1234.5, 49.06, 4.901, 0].map(figure), ['1,235', '49.1', '4.90', '0.00']);
  assert.equal(figure(Number.NaN), '–');
  assert.equal(spreadText({ median: 2, minimum: 1, maximum: 3 }), '2.00 (1.00–3.00)');
  assert.equal(spreadText({ median: 2, minimum: 2, maximum: 2 }), '2.00');
  assert.equal(spreadText(undefined), '–');
});

test('tables: Markdown and columns', () => {
  const rows = [
    ['', 'µs'],
    ['a|b', '10'],
    ['c', '2.50'],
  ];
  assert.equal(markdownTable(rows), '|  | µs |\n|---|---:|\n| a\\|b | 10 |\n| c | 2.50 |');
  assert.equal(terminalTable(rows), '       µs\na|b    10\nc    2.50');
});

test('a row for each contender that was measured, with its ratios; none for those that were not', () => {
  const measured = results.workloads['http1-get'];
  assert.ok(measured);
  const rows = throughputRows(measured);
  assert.deepEqual(
    rows.slice(1).map(([title, cpu, go, bestPass, nginx]) => [title, cpu, go, bestPass, nginx]),
    [
      ['no proxy', '–', '–', '–', '–'],
      ['Mixed Version Proxy', '75.0 (60.0–90.0)', '1.75 (1.50–2.00)', '1.75 (1.50–2.00)', '–'],
      ['Go ReverseProxy', '42.5 (40.0–45.0)', '1.00', '1.00', '–'],
    ],
  );
});

test('at a fixed rate the table says what each proxy adds to the latency without one', () => {
  const contenders = {
    direct: { ...roundOf({ direct: 0 }).contenders.direct, latency: { p50: 0.5, p99: 1 } },
    router: { ...roundOf({ router: 60 }).contenders.router, latency: { p50: 0.75, p99: 3 } },
  };
  const round = parse(throughputResultsSchema, {
    kind: 'throughput',
    workloads: { 'http1-rate': workloadOf([{ rate: 1_000, contenders } as never]) },
  });
  const rows = throughputRows(round.workloads['http1-rate'] ?? workloadOf([]));
  assert.deepEqual(rows[1]?.slice(-2), ['0.50', '1.00']);
  assert.deepEqual(rows[2]?.slice(-2), ['+0.25', '+2.00']);
});

test('the page: what stands between the markers is replaced, all else stays', () => {
  const page = 'before\n<!-- a: begin -->\nold\n<!-- a: end -->\nafter\n';
  assert.equal(
    replaceBetweenMarkers(page, 'a', 'new $& line'),
    'before\n<!-- a: begin -->\nnew $& line\n<!-- a: end -->\nafter\n',
  );
  assert.throws(() => replaceBetweenMarkers(page, 'b', ''), /no place between/);
});

test('docs/explanation/performance.md and lab/bench/results/README.md have a place for every kind of results', async () => {
  const page = await readFile(join(docs, 'explanation', 'performance.md'), 'utf8');
  const empty = { kind: 'watches', modes: {} } as const;
  const recorded = {
    throughput: results,
    quick: results,
    watches: empty,
  };
  assert.match(fillPage(page, recorded), /^\| GET 1 KB, HTTP\/1\.1 \| 75\.0 \| 42\.5 \|/m);
  const tables = tablesPage(recorded);
  assert.match(tables, /^### GET 1 KB, HTTP\/1\.1\n\n\| {2}\| CPU/m);
  assert.match(tables, /^### Under steady load: GET 1 KB, HTTP\/1\.1\n\n\| {2}\| CPU/m);
  assert.equal(fillPage(page, {}), page);
});

test('the plot: bars from the shortest to the longest, the router marked, hostile labels escaped', () => {
  const spread = (median: number) => ({ median, minimum: median, maximum: median });
  const chart = barChart('a & b', [
    {
      title: 'x < y',
      unit: 'µs',
      bars: [
        { label: 'slow"', spread: spread(20), emphasized: true },
        { label: 'fast', spread: spread(10), emphasized: false },
      ],
    },
  ]);
  assert.match(chart, /^<svg [^>]*aria-label="a &amp; b"/);
  assert.ok(chart.indexOf('>fast<') < chart.indexOf('>slow&quot;<'));
  const widths = [...chart.matchAll(/<rect class="([^"]+)"[^>]* width="([\d.]+)"/g)].map((match) =>
    match.slice(1),
  );
  assert.deepEqual(widths, [
    ['bar', '230'],
    ['bar emphasized', '460'],
  ]);
  assert.ok(!/NaN|undefined/.test(chart));
});

test('the plot can be drawn of what is recorded, and of nothing', () => {
  assert.ok(!/NaN|Infinity/.test(performanceChart(undefined, undefined)));
  assert.match(performanceChart(results, undefined), /Mixed Version Proxy<\/text>/);
});

test('results: what is recorded in lab/bench/results is what its schema says', async () => {
  await readResults('throughput', throughputResultsSchema);
  await readResults('quick', throughputResultsSchema);
  await readResults('watches', watchResultsSchema);
  assert.equal(await readResults('no-such', watchResultsSchema), undefined);
});

test('results: an unknown contender or a figure that is missing is refused', () => {
  const unknown = resultsOf({ 'http1-get': workloadOf([roundOf({ envoy: 1 })]) });
  assert.throws(() => parse(throughputResultsSchema, unknown), ValiError);
  const incomplete = { kind: 'throughput', workloads: { 'http1-get': { rounds: [] } } };
  assert.throws(() => parse(throughputResultsSchema, incomplete), ValiError);
});

for (const { path, text } of benchReport) {
  test(`${path} shows what is recorded`, async () => {
    const message = `${path} is stale: npm run lab -- report`;
    assert.equal(readFileSync(join(root, path), 'utf8'), await text(), message);
  });
}
