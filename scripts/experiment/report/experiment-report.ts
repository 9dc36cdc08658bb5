import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GeneratedFile } from '../../generate/generated-file.ts';
import { readResults } from '../../harness/results-file.ts';
import { measuredOn } from '../../report/format.ts';
import { replaceBetweenMarkers } from '../../report/markers.ts';
import { markdownTable, type Rows } from '../../report/text-table.ts';
import { setUpNames } from '../cluster/set-ups.ts';
import { countTable } from '../record/count-table.ts';
import { soakChart } from '../soak/soak-chart.ts';
import { type SoakResults, soakResultsSchema } from '../soak/soak-results.ts';
import { trendOf } from '../soak/trend.ts';
import { serverEnds } from '../upgrade/rolling-upgrade.ts';
import { upgradeChart } from '../upgrade/upgrade-chart.ts';
import { type UpgradeResults, upgradeResultsSchema } from '../upgrade/upgrade-results.ts';

const pagePath = 'bench/results/upgrade.md';

/** bench/results/upgrade.md and its plots. */
export const experimentReport: readonly GeneratedFile[] = [
  { path: pagePath, text: filledPage },
  ...serverEnds.map((serverEnd) => ({
    path: `bench/results/upgrade-${serverEnd}.svg`,
    text: async () => upgradeChart((await recordedResults()).upgrade.upgrades[serverEnd] ?? {}),
  })),
  { path: 'bench/results/soak.svg', text: async () => soakChart((await recordedResults()).soak) },
];

/** @throws where one of them has not been recorded. */
async function recordedResults() {
  const upgrade = await readResults('upgrade', upgradeResultsSchema);
  const soak = await readResults('soak', soakResultsSchema);
  if (upgrade === undefined || soak === undefined)
    throw new Error('bench/results lacks upgrade.json or soak.json');
  return { upgrade, soak };
}

async function filledPage(): Promise<string> {
  const { upgrade, soak } = await recordedResults();
  const texts = [
    ...serverEnds.map((serverEnd) => {
      const table = markdownTable(countTable(setUpNames, upgrade.upgrades[serverEnd] ?? {}));
      return [`upgrade-${serverEnd}`, `${table}\n\n${provenance(upgrade)}`] as const;
    }),
    ['soak', `${markdownTable(soakRows(soak))}\n\n${soakText(soak)}\n\n${provenance(soak)}`] as const,
  ];
  return texts.reduce(
    (page, [place, text]) => replaceBetweenMarkers(page, place, text),
    await readFile(join(import.meta.dirname, '..', '..', '..', pagePath), 'utf8'),
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

function provenance(results: UpgradeResults | SoakResults): string {
  return `Seed ${results.seed}, ${measuredOn(results)}.`;
}
