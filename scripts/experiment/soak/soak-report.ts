import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GeneratedFile } from '../../generate/generated-file.ts';
import { readResults } from '../../harness/results-file.ts';
import { measuredOn } from '../../report/format.ts';
import { replaceBetweenMarkers } from '../../report/markers.ts';
import { markdownTable, type Rows } from '../../report/text-table.ts';
import { soakChart } from './soak-chart.ts';
import { type SoakResults, soakResultsSchema } from './soak-results.ts';
import { trendOf } from './trend.ts';

const pagePath = 'bench/results/soak.md';

/** bench/results/soak.md and its plot. */
export const soakReport: readonly GeneratedFile[] = [
  { path: pagePath, text: filledPage },
  { path: 'bench/results/soak.svg', text: async () => soakChart(await recordedResults()) },
];

/** @throws where it has not been recorded. */
async function recordedResults(): Promise<SoakResults> {
  const soak = await readResults('soak', soakResultsSchema);
  if (soak === undefined) throw new Error('bench/results lacks soak.json');
  return soak;
}

async function filledPage(): Promise<string> {
  const soak = await recordedResults();
  const page = await readFile(join(import.meta.dirname, '..', '..', '..', pagePath), 'utf8');
  const provenance = `Seed ${soak.seed}, ${measuredOn(soak)}.`;
  return replaceBetweenMarkers(
    page,
    'soak',
    `${markdownTable(soakRows(soak))}\n\n${soakText(soak)}\n\n${provenance}`,
  );
}

function soakRows({ samples }: SoakResults): Rows {
  const lines = [
    ['memory of all routers, MiB resident', 'resident'],
    ['their JavaScript heaps, MiB alive after garbage collection', 'heap'],
    ['their sockets', 'sockets'],
  ] as const;
  return [
    ['', 'mean after the warm-up', 'growth after the warm-up'],
    ...lines.map(([title, what]) => {
      const { mean, growth } = trendOf(samples, what);
      return [title, Math.round(mean).toLocaleString('en-US'), `${(growth * 100).toFixed(1)} %`];
    }),
  ];
}

function soakText(soak: SoakResults): string {
  const first = soak.samples[0]?.generation ?? 0;
  const snapshots = (soak.samples.at(-1)?.generation ?? first) - first;
  const facts = [
    `${soak.minutes} minutes`,
    `${soak.routers} routers`,
    `${soak.watches.toLocaleString('en-US')} watches`,
    `${soak.slowReaders} slow readers`,
    `${soak.reconnectingClients} clients that drop their connection every few seconds`,
    `${soak.events.toLocaleString('en-US')} events to every watch`,
    `${snapshots.toLocaleString('en-US')} new snapshots`,
    `${soak.watchRestarts.toLocaleString('en-US')} watches begun again at their time-out`,
    `${soak.brokenWatches} broken`,
    `${soak.lostEvents} events lost`,
  ];
  return `${facts.join(', ')}.`;
}
