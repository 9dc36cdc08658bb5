import { styleText } from 'node:util';
import { printable } from '../../runtime/printable.ts';

export type Style = keyof typeof formats;

interface StyledText {
  readonly text: string;
  readonly style: Style;
}

export type Segment = string | StyledText;

export type Line = readonly Segment[];

const formats = { heading: 'bold', good: 'green', warning: 'yellow', bad: 'red' } as const;

/** Lines as a terminal is given them. What is in them is made printable; the colours are the only escapes. Pure. */
export function renderLines(lines: readonly Line[], isColored: boolean): string {
  return lines.map((line) => `${line.map((segment) => rendered(segment, isColored)).join('')}\n`).join('');
}

function rendered(segment: Segment, isColored: boolean): string {
  if (typeof segment === 'string') return printable(segment);
  const text = printable(segment.text);
  return isColored ? styleText(formats[segment.style], text, { validateStream: false }) : text;
}

/** `1 server`, `2 servers`. Pure. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
