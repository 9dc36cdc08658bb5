import { Option } from 'commander';

/** `auto`: where the output is a terminal. */
export type ColorMode = 'auto' | 'always' | 'never';

export function colorOption(): Option {
  return new Option(
    '--color <when>',
    'Colours in text; auto: on a terminal, unless NO_COLOR is set. They say nothing that words do not.',
  )
    .choices(['auto', 'always', 'never'] satisfies readonly ColorMode[])
    .default('auto');
}

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
