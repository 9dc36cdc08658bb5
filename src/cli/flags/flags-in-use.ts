import { type RawServeOptions, serveFlags } from './serve-flags.ts';

/**
 * Every flag of `serve` with the value in use: what was given, else the default, else nothing. Lists are joined by
 * commas, as they can be given.
 */
export function flagsInUse(raw: RawServeOptions): Readonly<Record<string, string>> {
  return Object.fromEntries(
    serveFlags
      .map((flag) => {
        const values = raw[flag.name];
        const value =
          flag.value.kind === 'list' ? values?.join(flag.value.isWhole ? ';' : ',') : values?.at(-1);
        return [flag.name, value ?? flag.default ?? ''] as const;
      })
      .sort(([left], [right]) => (left < right ? -1 : 1)),
  );
}
