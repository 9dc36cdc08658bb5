import { type FlagGroup, type RawServeOptions, serveFlagGroups } from './serve-flags.ts';

/**
 * Every flag of `serve` with the value in use: what was given, else the default, else nothing. Lists are joined by
 * commas, as they can be given.
 */
export function flagsInUse(raw: RawServeOptions): Readonly<Record<string, string>> {
  const groups: readonly FlagGroup[] = serveFlagGroups;
  const given: Readonly<Partial<Record<string, readonly string[]>>> = raw;
  const flags = groups.flatMap((group) => group.flags);
  return Object.fromEntries(
    flags
      .map((flag) => {
        const values = given[flag.name];
        const value = flag.kind === 'list' ? values?.join(',') : values?.at(-1);
        return [flag.name, value ?? flag.default ?? ''] as const;
      })
      .sort(([left], [right]) => (left < right ? -1 : 1)),
  );
}
