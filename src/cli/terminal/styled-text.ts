import { choice, setting } from '../../node/configuration/setting-types.ts';

/** What a colour stands for. */
export type Style = 'heading' | 'good' | 'warning' | 'bad';

interface StyledText {
  readonly text: string;
  readonly style: Style;
}

/** Text on one line, with or without a style. */
export type Segment = string | StyledText;

/** A line, from left to right. */
export type Line = readonly Segment[];

/** Select Graphic Rendition (ECMA-48 section 8.3.117): bold, and the colours that every terminal has. */
const renditions: Readonly<Record<Style, string>> = { heading: '1', good: '32', warning: '33', bad: '31' };

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
  return isColored ? `\u001b[${renditions[segment.style]}m${text}\u001b[0m` : text;
}

/** `auto`: where the output is a terminal. */
export type ColorMode = 'auto' | 'always' | 'never';

export const colorSetting = setting('color', choice('auto', 'always', 'never'), {
  default: 'auto',
  description:
    'Colours in text; auto: on a terminal, unless NO_COLOR is set. They only repeat what the text says.',
});

export function isColored(
  mode: ColorMode,
  { outputTakesColor }: { readonly outputTakesColor: boolean },
): boolean {
  return mode === 'always' || (mode === 'auto' && outputTakesColor);
}

/** By the environment's conventions: NO_COLOR that is not empty (no-color.org), and terminals that know no colours. */
export function takesColor(
  isTerminal: boolean,
  environment: Readonly<Partial<Record<string, string>>>,
): boolean {
  const { NO_COLOR: noColor = '', TERM: terminal = '' } = environment;
  return isTerminal && noColor === '' && terminal !== 'dumb';
}
