import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '../../harness/machine-schema.ts';
import { readResults, resultsDirectory } from '../../harness/results-file.ts';
import { replaceBetweenMarkers } from '../../report/markers.ts';
import { markdownTable, type Rows } from '../../report/text-table.ts';
import { killResultsSchema } from '../kill/kill-results.ts';
import { killRows } from '../kill/kill-table.ts';
import { soakChart } from '../soak/soak-chart.ts';
import { type SoakResults, soakResultsSchema } from '../soak/soak-results.ts';
import { trendOf } from '../soak/trend.ts';
import { serverEnds } from '../upgrade/rolling-upgrade.ts';
import { upgradeChart } from '../upgrade/upgrade-chart.ts';
import { upgradeResultsSchema } from '../upgrade/upgrade-results.ts';
import { upgradeRows } from '../upgrade/upgrade-table.ts';

const docs = join(import.meta.dirname, '..', '..', '..', 'docs');

/** Brings the tables and plots of docs/explanation/upgrade-experiment.md up to what is recorded in bench/results. */
export async function writeExperimentReport(): Promise<void> {
  const [upgrade, kill, soak] = await Promise.all([
    readResults(join(resultsDirectory, 'upgrade.json'), upgradeResultsSchema),
    readResults(join(resultsDirectory, 'kill.json'), killResultsSchema),
    readResults(join(resultsDirectory, 'soak.json'), soakResultsSchema),
  ]);
  const images = join(docs, 'images');
  await mkdir(images, { recursive: true });
  const file = join(docs, 'explanation', 'upgrade-experiment.md');
  let page = await readFile(file, 'utf8');
  const fill = (name: string, content: string): void => {
    page = replaceBetweenMarkers(page, name, content);
  };
  if (upgrade !== undefined) {
    for (const serverEnd of serverEnds) {
      const setUps = upgrade.upgrades[serverEnd];
      if (setUps === undefined) continue;
      await writeFile(join(images, `upgrade-${serverEnd}.svg`), upgradeChart(setUps));
      fill(`upgrade-${serverEnd}`, `${markdownTable(upgradeRows(setUps))}\n\n${provenance(upgrade)}`);
    }
  }
  if (kill !== undefined) fill('kill', `${markdownTable(killRows(kill))}\n\n${provenance(kill)}`);
  if (soak !== undefined) {
    await writeFile(join(images, 'soak.svg'), soakChart(soak));
    fill('soak', `${markdownTable(soakRows(soak))}\n\n${soakText(soak)}\n\n${provenance(soak)}`);
  }
  await writeFile(file, page);
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

function provenance({
  measuredAt,
  machine,
  seed,
}: {
  readonly measuredAt: string;
  readonly machine: Machine;
  readonly seed: number;
}): string {
  const { processor, cores, memory, loadBefore } = machine;
  return `Seed ${seed}, ${measuredAt.slice(0, 10)}, on ${processor}, ${cores} cores, ${memory} GiB, load before ${loadBefore.toFixed(1)}.`;
}
