import { spreadOf } from '../../harness/statistics.ts';
import { spreadText } from '../../report/format.ts';
import type { Rows } from '../../report/text-table.ts';
import { contenderNames } from '../rivals/contender.ts';
import { titleOf } from '../rivals/contenders.ts';
import type { TransferResults } from './transfer-results.ts';

/** One row for each contender that was measured. */
export function transferRows({ rounds, slowMegabytes, slowRate }: TransferResults): Rows {
  const rows = contenderNames.flatMap((name) => {
    const measured = rounds.flatMap((round) => round[name] ?? []);
    if (measured.length === 0) return [];
    const growth = spreadOf(measured.map(({ slowReaderGrowth }) => slowReaderGrowth / 1024));
    return [[titleOf(name), name === 'direct' ? '–' : spreadText(growth)]];
  });
  return [['', `MiB more while ${slowMegabytes} MB are read at ${slowRate} MB/s`], ...rows];
}
