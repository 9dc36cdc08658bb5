const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Reads a duration as Go writes it (`1s`, `500ms`, `1h30m`), in milliseconds; `undefined` for anything else. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d{1,9}(\.\d{1,9})?(ms|s|m|h))+$/.test(text)) return undefined;
  let milliseconds = 0;
  for (const [, number, unit = ''] of text.matchAll(/([\d.]+)(ms|s|m|h)/g)) {
    milliseconds += Number(number) * (units[unit] ?? 0);
  }
  return milliseconds;
}
