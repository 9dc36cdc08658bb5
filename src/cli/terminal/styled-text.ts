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

/** A text in lines of at most `width` characters, broken at spaces alone: a URL is to be pasted. Pure. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const end = space > 0 ? space : rest.indexOf(' ', 1);
    if (end === -1) break;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest];
}
