import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GeneratedFile } from '../../../scripts/generate/generated-file.ts';
import { replaceBetweenMarkers } from '../../../scripts/generate/markers.ts';
import type { Machine } from '../../harness/machine-schema.ts';
import { readResults } from '../../harness/results-file.ts';
import { measuredOn } from '../../report/format.ts';
import { markdownTable } from '../../report/text-table.ts';
import { pacedWindows } from '../load/paced.ts';
import { windowSeconds } from '../throughput/measure-workload.ts';
import {
  type ThroughputResults,
  throughputResultsSchema,
  type WorkloadResults,
} from '../throughput/results.ts';
import { summaryRows, throughputRows } from '../throughput/throughput-table.ts';
import { type Workload, workloads } from '../throughput/workloads.ts';
import { type WatchResults, watchModes, watchResultsSchema } from '../watches/watch-results.ts';
import { watchRows, watchSummaryRows } from '../watches/watch-table.ts';
import { performanceChart } from './performance-chart.ts';

/** Share of the cores that the load before may take: work of the last minute stays in the load average for minutes. */
const quietShare = 0.5;
export const root = join(import.meta.dirname, '..', '..', '..');
const pagePath = 'docs/explanation/performance.md';

/** docs/explanation/performance.md, its plot, and lab/bench/results/README.md, which has every contender of every workload. */
export const benchReport: readonly GeneratedFile[] = [
  {
    path: pagePath,
    text: async () => fillPage(await readFile(join(root, pagePath), 'utf8'), await recordedResults()),
  },
  { path: 'lab/bench/results/README.md', text: async () => tablesPage(await recordedResults()) },
  {
    path: 'docs/images/performance.svg',
    async text() {
      const { throughput, watches } = await recordedResults();
      return performanceChart(throughput, watches);
    },
  },
];

async function recordedResults(): Promise<RecordedResults> {
  return {
    throughput: await readResults('throughput', throughputResultsSchema),
    quick: await readResults('quick', throughputResultsSchema),
    watches: await readResults('watches', watchResultsSchema),
  };
}

/** Contents of lab/bench/results; `undefined` where nothing has been recorded. */
interface RecordedResults {
  readonly throughput?: ThroughputResults | undefined;
  readonly quick?: ThroughputResults | undefined;
  readonly watches?: WatchResults | undefined;
}

/** The page with the tables of what is recorded; where nothing is, its place stays as it is. */
export function fillPage(page: string, { throughput, watches }: RecordedResults): string {
  const texts = {
    throughput: throughput && markdownTable(summaryRows(throughput)),
    watches: watches && markdownTable(watchSummaryRows(watches)),
  };
  return Object.entries(texts).reduce(
    (filled, [place, text]) => (text === undefined ? filled : replaceBetweenMarkers(filled, place, text)),
    page,
  );
}

/** Every figure of requests and watches that is recorded, for readers who want more than the page's summary. */
export function tablesPage({ throughput, quick, watches }: RecordedResults): string {
  return [
    '# Recorded figures of requests and watches',
    'Every contender in every workload. `npm run lab -- report` writes this page; [performance](../../../docs/explanation/performance.md) says how the figures come about and what they mean.',
    throughput && throughputText(throughput, ''),
    quick && throughputText(quick, 'Under steady load: '),
    watches && watchText(watches),
  ]
    .filter((text) => text !== undefined)
    .map((text) => `${text.trimEnd()}\n`)
    .join('\n');
}

/** @param prefix of each table's heading, so that no two on the page are the same. */
function throughputText(results: ThroughputResults, prefix: string): string {
  let noteBefore = '';
  return workloads
    .flatMap((workload) => {
      const { name, title } = workload;
      const measured = results.workloads[name];
      if (measured === undefined) return [];
      const rates = measured.rounds.flatMap(({ rate }) => rate ?? []);
      const note = `${roundsOf(workload, measured)} ${provenance(measured)}`;
      const lines = [
        `### ${prefix}${title}`,
        '',
        markdownTable(throughputRows(measured)),
        '',
        note === noteBefore ? 'Measured as the table before.' : note,
        ...(rates.length > 0 ? [`Requests a second asked for in each round: ${rates.join(', ')}.`] : []),
        '',
      ];
      noteBefore = note;
      return [lines.join('\n')];
    })
    .join('\n');
}

function roundsOf(workload: Workload, { rounds, passes, warmUp, seconds }: WorkloadResults): string {
  const { kind } = workload;
  // wrk takes whole seconds and has no warm-up.
  const [length, before] =
    kind === 'connections'
      ? [Math.ceil(seconds), '']
      : [
          kind === 'rate' ? windowSeconds(workload, seconds) * pacedWindows : seconds,
          `, after ${warmUp} s of load that do not count`,
        ];
  const each = passes === 1 ? `${length} s` : `${passes} passes of ${length} s`;
  return `${rounds.length} ${rounds.length === 1 ? 'round' : 'rounds'} of ${each}${before}.`;
}

function watchText({ modes }: WatchResults): string {
  return watchModes
    .flatMap((mode) => {
      const results = modes[mode];
      if (results === undefined) return [];
      const { watches, perConnection } = results;
      const title =
        mode === 'http1' ? 'HTTP/1.1, a connection each' : `HTTP/2, ${perConnection} on a connection`;
      const heading = `### ${watches.toLocaleString('en-US')} watches, clients on ${title}`;
      return [`${heading}\n\n${markdownTable(watchRows(results))}\n\n${provenance(results)}\n`];
    })
    .join('\n');
}

function provenance(measured: {
  readonly measuredAt: string;
  readonly machine: Machine;
  readonly versions: Readonly<Partial<Record<string, string>>>;
}): string {
  const { machine, versions } = measured;
  const named = Object.entries(versions)
    // `go-http2` of the same version is the same program.
    .filter(
      ([name, version]) =>
        version !== '' && !(versions[name.replace(/-http2$/, '')] === version && name.endsWith('-http2')),
    )
    .map(([name, version]) => `${name} ${version}`)
    .join('; ');
  const warning =
    machine.loadBefore > machine.cores * quietShare
      ? ' **The machine was not quiet: take these figures for provisional.**'
      : '';
  return `Measured ${measuredOn(measured)}. ${named}.${warning}`;
}
