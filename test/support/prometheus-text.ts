/** One line of a scrape. */
interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ParsedFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly ParsedSample[];
}

interface OpenFamily extends ParsedFamily {
  readonly samples: ParsedSample[];
}

/**
 * Reads a scrape as strictly as the format is written down (Prometheus text format 0.0.4): HELP
 * and TYPE before the samples of a family, families whole and once, no series twice, histograms complete.
 * @throws with the line that breaks a rule
 */
export function parseScrape(text: string): ReadonlyMap<string, ParsedFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const lines = text.slice(0, -1).split('\n');
  const families = new Map<string, OpenFamily>();
  const seen = new Set<string>();
  let open: { name: string; help: string } | undefined;
  let family: OpenFamily | undefined;
  for (const line of lines) {
    const help = /^# HELP ([a-zA-Z_:][\w:]*) (.+)$/.exec(line);
    if (help !== null) {
      open = { name: help[1] ?? '', help: help[2] ?? '' };
      if (families.has(open.name)) throw new Error(`a family twice: ${line}`);
      continue;
    }
    const type = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram)$/.exec(line);
    if (type !== null) {
      if (open === undefined || open.name !== type[1]) throw new Error(`TYPE without its HELP: ${line}`);
      family = { name: open.name, type: type[2] ?? '', help: open.help, samples: [] };
      families.set(family.name, family);
      open = undefined;
      continue;
    }
    if (open !== undefined || family === undefined) throw new Error(`a sample outside of a family: ${line}`);
    const sample = parseSample(line);
    if (!belongs(sample, family)) throw new Error(`a sample of another family: ${line}`);
    const series = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`;
    if (seen.has(series)) throw new Error(`a series twice: ${line}`);
    seen.add(series);
    family.samples.push(sample);
  }
  for (const parsed of families.values()) if (parsed.type === 'histogram') checkHistogram(parsed);
  return families;
}

function parseSample(line: string): ParsedSample {
  const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/s.exec(line);
  if (match === null) throw new Error(`no sample: ${line}`);
  const [, name = '', labelText = '', valueText = ''] = match;
  const value = valueText === '+Inf' ? Number.POSITIVE_INFINITY : Number(valueText);
  if (Number.isNaN(value)) throw new Error(`no number: ${line}`);
  const labels: Record<string, string> = {};
  const label = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|$)/y;
  while (label.lastIndex < labelText.length) {
    const found = label.exec(labelText);
    if (found === null) throw new Error(`labels that cannot be read: ${line}`);
    const [, key = '', escaped = ''] = found;
    if (key in labels) throw new Error(`a label twice: ${line}`);
    labels[key] = escaped.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
  }
  return { name, labels, value };
}

function belongs({ name, value }: ParsedSample, { name: family, type }: ParsedFamily): boolean {
  if (type === 'gauge') return name === family;
  if (value < 0) return false;
  if (type === 'counter') return name === family;
  return [`${family}_bucket`, `${family}_sum`, `${family}_count`].includes(name);
}

/** Buckets rise, end with +Inf, and that one is the count; there is a sum. */
function checkHistogram({ name, samples }: ParsedFamily): void {
  const series = new Map<string, ParsedSample[]>();
  for (const sample of samples) {
    const { le: _, ...others } = sample.labels;
    const key = JSON.stringify(Object.entries(others).sort());
    series.set(key, [...(series.get(key) ?? []), sample]);
  }
  for (const [key, ofSeries] of series) {
    const of = (suffix: string) => ofSeries.filter((sample) => sample.name === `${name}${suffix}`);
    const buckets = of('_bucket').map((sample) => ({ le: labelOf(sample, 'le') ?? '', value: sample.value }));
    const bounds = buckets.map(({ le }) => (le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)));
    const isRising = (numbers: readonly number[], strictly: boolean): boolean =>
      numbers.every((number, index) => {
        const before = numbers[index - 1];
        return before === undefined || (strictly ? number > before : number >= before);
      });
    const [count] = of('_count');
    const complete =
      bounds.at(-1) === Number.POSITIVE_INFINITY &&
      isRising(bounds, true) &&
      isRising(
        buckets.map(({ value }) => value),
        false,
      ) &&
      count?.value === buckets.at(-1)?.value &&
      of('_sum').length === 1;
    if (!complete) throw new Error(`a histogram with a hole: ${name} ${key}`);
  }
}

export function labelOf({ labels }: ParsedSample, name: string): string | undefined {
  return labels[name];
}

/** The value of the one series with at least these labels; `undefined`: there is none. */
export function sampleValue(
  families: ReadonlyMap<string, ParsedFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = (families.get(name)?.samples ?? []).filter((sample) =>
    Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  if (found.length > 1) throw new Error(`${name} ${JSON.stringify(labels)} is not one series`);
  return found[0]?.value;
}
