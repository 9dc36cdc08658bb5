import type { Line, Segment } from '../terminal/styled-text.ts';

/** Columns as wide as their widest cell, two spaces apart; nothing behind the last one. */
export function textTable(rows: readonly (readonly Segment[])[]): readonly Line[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, textOf(cell).length);
    }
  }
  return rows.map((row) => {
    const filled = row.slice(0, row.findLastIndex((cell) => textOf(cell) !== '') + 1);
    return filled.flatMap((cell, index) => {
      const isLast = index === filled.length - 1;
      return isLast ? [cell] : [cell, ' '.repeat((widths[index] ?? 0) - textOf(cell).length + 2)];
    });
  });
}

function textOf(segment: Segment): string {
  return typeof segment === 'string' ? segment : segment.text;
}
