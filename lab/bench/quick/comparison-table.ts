import { spreadText } from '../../report/format.ts';
import type { Rows } from '../../report/text-table.ts';
import type { Comparison } from './compare.ts';

/** A row for each workload. */
export function comparisonRows(comparisons: readonly Comparison[]): Rows {
  const headings = ['', 'best CPU × go now', 'recorded', 'unchanged is', ''];
  return [
    headings,
    ...comparisons.map(({ workload, now, recorded, band, verdict }) => [
      workload,
      spreadText(now),
      spreadText(recorded),
      `${band.from.toFixed(2)}–${band.to.toFixed(2)}`,
      verdict,
    ]),
  ];
}
