import { Option } from 'commander';
import { deprecationNotice, descriptionOf } from './deprecated-flags.ts';
import type { FlagDefinition } from './flag.ts';

/** What commander hands to an action, by attribute. */
export type GivenOptions = Readonly<Record<string, unknown>>;

/** A flag as commander knows it: every occurrence is kept, as it was given. */
export function flagOption(flag: FlagDefinition): Option {
  const short = flag.short === undefined ? '' : `-${flag.short}, `;
  const { kind, placeholder } = flag.value;
  const value = kind === 'boolean' ? `[${placeholder}]` : `<${placeholder}>`;
  const notice = flag.deprecated === undefined ? '' : ` ${deprecationNotice(flag.deprecated)}`;
  return (
    new Option(`${short}--${flag.name} ${value}`, `${descriptionOf(flag)}${notice}`)
      // What a boolean flag means when it stands alone.
      .preset('true')
      .argParser((given: string, previous: readonly string[] | undefined) => [
        ...(previous ?? []),
        // `-v=4`, as Kubernetes' own commands take it.
        flag.short === undefined ? given : given.replace(/^=/, ''),
      ])
  );
}

/** The occurrences of each flag in `names`, which has the name of each attribute. */
export function occurrencesOf(
  options: GivenOptions,
  names: ReadonlyMap<string, string>,
): Readonly<Partial<Record<string, readonly string[]>>> {
  const given: Partial<Record<string, readonly string[]>> = {};
  for (const [attribute, name] of names) {
    const values = options[attribute];
    // The parser of each of them gathers its occurrences.
    if (Array.isArray(values)) given[name] = values;
  }
  return given;
}
