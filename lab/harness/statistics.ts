/** Spread of repeated measurements: the middle one, and how far they lie apart. */
export interface Spread {
  readonly median: number;
  readonly minimum: number;
  readonly maximum: number;
}

/** Value below which the given share (0 to 1) of `sorted` lies, by linear interpolation; NaN for none. */
export function quantile(sorted: readonly number[], share: number): number {
  const position = (sorted.length - 1) * share;
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? Number.NaN;
  return below + (above - below) * (position - Math.floor(position));
}

/** NaN for none. */
export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((one, other) => one - other),
    0.5,
  );
}

/** `undefined` where nothing was measured. */
export function spreadOf(values: readonly number[]): Spread | undefined {
  const sorted = values.filter((value) => Number.isFinite(value)).toSorted((one, other) => one - other);
  if (sorted.length === 0) return undefined;
  return { median: quantile(sorted, 0.5), minimum: quantile(sorted, 0), maximum: quantile(sorted, 1) };
}

/** Rounds to as many digits as a measurement on a shared machine can mean. */
export function significant(value: number, digits = 4): number {
  return Number(value.toPrecision(digits));
}
