import type { Machine } from '../harness/machine-schema.ts';
import type { Spread } from '../harness/statistics.ts';

/** A figure with as many digits as can mean something: `49`, `4.9`, `1,250`. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** The middle, and from where to where it went: `49.1 (47.0–52.3)`. */
export function spreadText(spread: Spread | undefined): string {
  if (spread === undefined) return '–';
  const { median, minimum, maximum } = spread;
  return minimum === maximum ? figure(median) : `${figure(median)} (${figure(minimum)}–${figure(maximum)})`;
}

/** When and where figures were measured. */
export function measuredOn({
  measuredAt,
  machine,
}: {
  readonly measuredAt: string;
  readonly machine: Machine;
}): string {
  const { processor, cores, memory, kernel, loadBefore } = machine;
  return `${measuredAt.slice(0, 10)} on ${processor}, ${cores} cores, ${memory} GiB, Linux ${kernel}, load before ${loadBefore.toFixed(1)}`;
}
