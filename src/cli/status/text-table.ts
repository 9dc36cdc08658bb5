import type { Line, Segment } from '../terminal/styled-text.ts';

type Row = readonly Segment[];

/** Columns of the narrowest terminal that people use. */
export const narrow = 80;

const gap = 2;
/** The first column is cut where it would take more of the width than this. */
const longestName = 36;

/**
 * Columns as wide as their widest cell, two spaces apart; nothing after the last one. A table that is wider than
 * `width` is cut into several below each other, each with the first column, whose long names are shortened.
 */
export function textTable(rows: readonly Row[], width = Number.POSITIVE_INFINITY): readonly Line[] {
  const widths = columnWidths(rows);
  if (totalOf(widths) <= width) return aligned(rows, widths);
  const short = rows.map(([name = '', ...rest]) => [shortened(name, longestName), ...rest]);
  const [first = 0, ...others] = columnWidths(short);
  const tables: number[][] = [[]];
  let used = first;
  for (const [index, wide] of others.entries()) {
    if (used + gap + wide > width && tables.at(-1)?.length !== 0) {
      tables.push([]);
      used = first;
    }
    tables.at(-1)?.push(index + 1);
    used += gap + wide;
  }
  return tables.flatMap((columns, index) => {
    const part = short.map((row) => [row[0] ?? '', ...columns.map((column) => row[column] ?? '')]);
    const lines = aligned(part, columnWidths(part));
    return index === 0 ? lines : [[], ...lines];
  });
}

/** Labels with a text each, which is broken where it is longer than the line; without a text the label is left out. */
export function labelledTexts(
  rows: readonly (readonly [label: string, text: Segment | undefined])[],
  width = Number.POSITIVE_INFINITY,
): readonly Line[] {
  const shown = rows.flatMap(([label, text]) => (text === undefined ? [] : [{ label, text }]));
  const indent = Math.max(...shown.map(({ label }) => label.length)) + gap;
  return shown.flatMap(({ label, text }) =>
    wrapped(text, width - indent).map((part, index) => [(index === 0 ? label : '').padEnd(indent), part]),
  );
}

/** A text in lines of at most `width` characters, broken at spaces where there are any. */
function wrapped(segment: Segment, width: number): readonly Segment[] {
  const parts: string[] = [];
  let rest = textOf(segment);
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const end = space > 0 ? space : width;
    parts.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  parts.push(rest);
  return parts.map((part) => (typeof segment === 'string' ? part : { ...segment, text: part }));
}

export function headings(...texts: readonly string[]): readonly Segment[] {
  return texts.map((text) => ({ text, style: 'heading' }));
}

/** Texts below a heading, each broken where it is longer than the line. Nothing where there are none. */
export function list(
  heading: string,
  texts: readonly string[],
  width: number,
  count: number = texts.length,
): readonly Line[] {
  if (texts.length === 0) return [];
  const more = count > texts.length ? [[`  and ${count - texts.length} more`]] : [];
  const lines = texts.flatMap((text) =>
    wrapped(text, width - 4).map((part, index) => [index === 0 ? '  ' : '    ', part]),
  );
  return [[{ text: `${heading}:`, style: 'warning' }], ...lines, ...more];
}

/** Sections with an empty line between them; none for a section without lines. */
export function separated(sections: readonly (readonly Line[])[]): readonly Line[] {
  return sections
    .filter((section) => section.length > 0)
    .flatMap((section, index) => (index === 0 ? section : [[], ...section]));
}

function aligned(rows: readonly Row[], widths: readonly number[]): readonly Line[] {
  return rows.map((row) => {
    const filled = row.slice(0, row.findLastIndex((cell) => textOf(cell) !== '') + 1);
    return filled.flatMap((cell, index) => {
      const isLast = index === filled.length - 1;
      return isLast ? [cell] : [cell, ' '.repeat((widths[index] ?? 0) - textOf(cell).length + gap)];
    });
  });
}

function columnWidths(rows: readonly Row[]): readonly number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, textOf(cell).length);
    }
  }
  return widths;
}

function totalOf(widths: readonly number[]): number {
  return widths.reduce((sum, wide) => sum + wide, gap * Math.max(0, widths.length - 1));
}

function shortened(segment: Segment, width: number): Segment {
  const text = textOf(segment);
  if (text.length <= width) return segment;
  const short = `${text.slice(0, width - 1)}…`;
  return typeof segment === 'string' ? short : { ...segment, text: short };
}

function textOf(segment: Segment): string {
  return typeof segment === 'string' ? segment : segment.text;
}
