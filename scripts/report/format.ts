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
