import { type Line, type Segment, wrapped } from '../terminal/styled-text.ts';

type Row = readonly Segment[];

/** Columns of the narrowest terminal that people use. */
export const narrow = 80;

const gap = 2;

/** Columns as wide as their widest cell, two spaces apart; nothing after the last one. */
export function textTable(rows: readonly Row[]): readonly Line[] {
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
      return isLast ? [cell] : [cell, ' '.repeat((widths[index] ?? 0) - textOf(cell).length + gap)];
    });
  });
}

/** Labels with a text each, which is broken where it is longer than the line; without a text the label is left out. */
export function labelledTexts(
  rows: readonly (readonly [label: string, text: Segment | undefined])[],
  width = narrow,
): readonly Line[] {
  const shown = rows.flatMap(([label, text]) => (text === undefined ? [] : [{ label, text }]));
  const indent = Math.max(...shown.map(({ label }) => label.length)) + gap;
  return shown.flatMap(({ label, text }) =>
    wrapped(textOf(text), width - indent).map((part, index) => [
      (index === 0 ? label : '').padEnd(indent),
      typeof text === 'string' ? part : { ...text, text: part },
    ]),
  );
}

export function headings(...texts: readonly string[]): readonly Segment[] {
  return texts.map((text) => ({ text, style: 'heading' }));
}

/** Texts below a heading, each broken where it is longer than the line. Nothing where there are none. */
export function list(heading: string, texts: readonly string[], width: number): readonly Line[] {
  if (texts.length === 0) return [];
  const lines = texts.flatMap((text) =>
    wrapped(text, width - 4).map((part, index) => [index === 0 ? '  ' : '    ', part]),
  );
  return [[{ text: `${heading}:`, style: 'warning' }], ...lines];
}

export function separated(sections: readonly (readonly Line[])[]): readonly Line[] {
  return sections
    .filter((section) => section.length > 0)
    .flatMap((section, index) => (index === 0 ? section : [[], ...section]));
}

function textOf(segment: Segment): string {
  return typeof segment === 'string' ? segment : segment.text;
}
