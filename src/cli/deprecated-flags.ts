import type { FlagFault } from './flag-values.ts';
import type { FlagGroup } from './serve-flags.ts';

/** That a flag, and the key of a configuration file that stands for it, will go. */
export interface Deprecation {
  /** The version in which it was deprecated, for example `v0.2.0`. */
  readonly since: string;
  /** What to write in its place, or why nothing is needed; the end of a sentence: `use --other`. */
  readonly instead: string;
}

/** For help, reference pages and schemas. */
export function deprecationNotice({ since, instead }: Deprecation): string {
  return `Deprecated since ${since}: ${instead}.`;
}

/** A warning for each deprecated flag that is given, in the order of the groups. Pure. */
export function deprecationWarnings(
  groups: readonly FlagGroup[],
  given: Readonly<Partial<Record<string, readonly string[]>>>,
): readonly FlagFault[] {
  return groups
    .flatMap(({ flags }) => flags)
    .flatMap(({ name, deprecated }) => {
      if (deprecated === undefined || given[name] === undefined) return [];
      const { since, instead } = deprecated;
      return [{ flag: `--${name}` as const, message: `--${name} is deprecated since ${since}: ${instead}` }];
    });
}
