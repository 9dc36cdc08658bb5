import type { Deprecation, FlagDefinition } from './flag.ts';
import type { FlagFault } from './flag-values.ts';

/** For help and schemas: with the default, where there is one. */
export function descriptionOf({ description, default: usual }: FlagDefinition): string {
  return usual === undefined ? description : `${description} (default ${usual})`;
}

/** For help, reference pages and schemas. */
export function deprecationNotice({ since, instead }: Deprecation): string {
  return `Deprecated since ${since}: ${instead}.`;
}

/** A warning for each deprecated flag that is given, in the order of the flags. Pure. */
export function deprecationWarnings(
  flags: readonly FlagDefinition[],
  given: Readonly<Partial<Record<string, readonly string[]>>>,
): readonly FlagFault[] {
  return flags.flatMap(({ name, deprecated }) => {
    if (deprecated === undefined || given[name] === undefined) return [];
    const { since, instead } = deprecated;
    return [{ flag: `--${name}` as const, message: `--${name} is deprecated since ${since}: ${instead}` }];
  });
}
