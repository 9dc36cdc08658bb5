import { styleText } from 'node:util';

export type Style = keyof typeof formats;

interface StyledText {
  readonly text: string;
  readonly style: Style;
}

export type Segment = string | StyledText;

export type Line = readonly Segment[];

const formats = { heading: 'bold', good: 'green', warning: 'yellow', bad: 'red' } as const;

/** Also what turns or hides other characters, such as U+202E (CVE-2021-42574), and the separators of lines. */
const controlCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Text that cannot control a terminal: control characters, line feeds among them, are shown as `?`. */
export function printable(text: string): string {
  return text.replaceAll(controlCharacters, '?');
}

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
