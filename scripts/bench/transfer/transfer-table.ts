import { spreadOf } from '../../harness/statistics.ts';
import { spreadText } from '../../report/format.ts';
import type { Rows } from '../../report/text-table.ts';
import { contenderNames } from '../rivals/contender.ts';
import { titleOf } from '../rivals/contenders.ts';
import type { TransferFigures, TransferResults } from './transfer-results.ts';

/** One row for each contender that was measured. */
export function transferRows({ rounds, slowMegabytes, slowRate }: TransferResults): Rows {
  const headings = [
    '',
    'MB/s of 10 MB lists',
    'CPU, ms a list',
    `MiB more while ${slowMegabytes} MB are read at ${slowRate} MB/s`,
  ];
  const rows = contenderNames.flatMap((name) => {
    const measured = rounds.flatMap((round) => round[name] ?? []);
    if (measured.length === 0) return [];
    const spread = (pick: (figures: TransferFigures) => number) => spreadText(spreadOf(measured.map(pick)));
    const isProxy = name !== 'direct';
    return [
      [
        titleOf(name),
        spread(({ megabytesPerSecond }) => megabytesPerSecond),
        isProxy ? spread(({ cpuTimePerList }) => cpuTimePerList) : '–',
        isProxy ? spread(({ slowReaderGrowth }) => slowReaderGrowth / 1024) : '–',
      ],
    ];
  });
  return [headings, ...rows];
}
