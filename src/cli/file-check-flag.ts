import { parseDuration } from './duration.ts';
import type { FlagReport, FlagValues } from './flag-values.ts';

const shortest = 1_000;
/** Longer ones would overrun what a timer can hold; a day is far beyond any use. */
const longest = 24 * 3_600_000;

/** Reads how often files are looked at for changes, in milliseconds. */
export function readFileCheckInterval(values: FlagValues, report: FlagReport): number | undefined {
  const name = 'file-check-interval';
  const text = values.text(name);
  if (text === undefined) return undefined;
  const interval = parseDuration(text);
  if (interval !== undefined && interval >= shortest && interval <= longest) return interval;
  return report.fault(name, `--${name} must be a duration from 1s to 24h, such as 10s, not "${text}"`);
}
