import { parseDuration } from './duration.ts';
import type { FlagReport, FlagValues } from './flag-values.ts';
import type { ServeFlagName } from './serve-flags.ts';

/** What a duration may be, as an operator writes it. */
export interface DurationRange {
  readonly shortest: string;
  readonly longest: string;
}

/** Reads a duration flag, in milliseconds. What is out of range is reported and comes back as `undefined`. */
export function readDuration(
  values: FlagValues,
  report: FlagReport,
  name: ServeFlagName,
  { shortest, longest }: DurationRange,
): number | undefined {
  const text = values.text(name);
  if (text === undefined) return undefined;
  const given = parseDuration(text);
  const [least, most] = [parseDuration(shortest) ?? 0, parseDuration(longest) ?? 0];
  if (given !== undefined && given >= least && given <= most) return given;
  return report.fault(
    name,
    `--${name} must be a duration from ${shortest} to ${longest}, such as 10s, not "${text}"`,
  );
}
