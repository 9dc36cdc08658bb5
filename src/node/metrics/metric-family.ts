/** Kubernetes' stability levels of metrics (component-base metrics): ALPHA may change, STABLE will not. */
type StabilityLevel = 'ALPHA' | 'STABLE';

type MetricType = 'counter' | 'gauge' | 'histogram';

export interface MetricDefinition<
  Labels extends readonly string[] = readonly string[],
  Type extends MetricType = MetricType,
> {
  /** In base units; ends in `_total` for counters, and in the unit (`_seconds`, `_bytes`) if there is one. */
  readonly name: string;
  readonly type: Type;
  readonly stability: StabilityLevel;
  /** One line; the stability level is added before it. */
  readonly help: string;
  readonly labels: Labels;
  /** Upper bounds of a histogram in ascending order, without +Inf. */
  readonly buckets?: readonly number[];
  /**
   * Values of its one label that it has from the start: a rate over a series that begins with its first event misses that
   * event. One without labels always begins at zero.
   */
  readonly begins?: readonly string[];
}

export function counter<const Labels extends readonly string[]>(
  name: string,
  help: string,
  labels: Labels,
  begins: readonly string[] = [],
): MetricDefinition<Labels, 'counter'> {
  return { name, type: 'counter', stability: 'ALPHA', help, labels, begins };
}

export function gauge<const Labels extends readonly string[]>(
  name: string,
  help: string,
  labels: Labels,
  begins: readonly string[] = [],
): MetricDefinition<Labels, 'gauge'> {
  return { name, type: 'gauge', stability: 'ALPHA', help, labels, begins };
}

export function histogram<const Labels extends readonly string[]>(
  name: string,
  help: string,
  labels: Labels,
  buckets: readonly number[],
): MetricDefinition<Labels, 'histogram'> {
  return { name, type: 'histogram', stability: 'ALPHA', help, labels, buckets };
}

export function stable<Definition extends MetricDefinition>(definition: Definition): Definition {
  return { ...definition, stability: 'STABLE' };
}

type LabelValues<Labels extends readonly string[]> = { readonly [Index in keyof Labels]: string };

export function helpOf({ stability, help }: Pick<MetricDefinition, 'stability' | 'help'>): string {
  return `[${stability}] ${help}`;
}

export interface Sample {
  readonly suffix: '' | '_bucket' | '_sum' | '_count';
  readonly labels: string;
  readonly upperBound?: number;
  readonly value: number;
}

export interface ExposedFamily {
  readonly definition: MetricDefinition;
  samples(): Iterable<Sample>;
}

interface Series {
  readonly labels: string;
  samples(): Iterable<Sample>;
}

/**
 * Series of one metric at most. Label values are bounded already; this is a second limit, in case one is not. Further
 * values count as `other`.
 */
const maximumSeries = 5_000;

export const otherLabel = 'other';

/**
 * The series of one metric by label values. Callers keep the series that they use often: a look-up joins strings, counting
 * is an addition (prom-client hashes the labels at every count).
 */
abstract class MetricFamily<Labels extends readonly string[], Cell extends Series> implements ExposedFamily {
  readonly definition: MetricDefinition<Labels>;
  readonly #series = new Map<string, Cell>();

  constructor(definition: MetricDefinition<Labels>) {
    this.definition = definition;
    const { labels, begins = [] } = definition;
    for (const value of labels.length === 0 ? [''] : begins) {
      this.#series.set(value, this.create(labelText(labels, [value])));
    }
  }

  protected abstract create(labels: string): Cell;

  with(...values: LabelValues<Labels>): Cell {
    const key = values.join('\0');
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const isFull = this.#series.size >= maximumSeries;
    const named: readonly string[] = isFull ? values.map(() => otherLabel) : values;
    const namedKey = isFull ? named.join('\0') : key;
    const existing = this.#series.get(namedKey);
    if (existing !== undefined) return existing;
    const made = this.create(labelText(this.definition.labels, named));
    this.#series.set(namedKey, made);
    return made;
  }

  remove(isGone: (...values: readonly string[]) => boolean): void {
    for (const key of this.#series.keys()) {
      if (isGone(...key.split('\0'))) this.#series.delete(key);
    }
  }

  clear(): void {
    this.#series.clear();
  }

  *samples(): Generator<Sample> {
    for (const series of this.#series.values()) yield* series.samples();
  }
}

export class NumberSeries implements Series {
  readonly labels: string;
  value = 0;

  constructor(labels: string) {
    this.labels = labels;
  }

  add(amount = 1): void {
    this.value += amount;
  }

  set(value: number): void {
    this.value = value;
  }

  *samples(): Generator<Sample> {
    yield { suffix: '', labels: this.labels, value: this.value };
  }
}

export class HistogramSeries implements Series {
  readonly labels: string;
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor(labels: string, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#sum += value;
    this.#count += 1;
    const bounds = this.#bounds;
    for (let index = 0; index < bounds.length; index++) {
      if (value <= (bounds[index] as number)) {
        this.#counts[index] = (this.#counts[index] as number) + 1;
        return;
      }
    }
  }

  *samples(): Generator<Sample> {
    const { labels } = this;
    let upTo = 0;
    for (const [index, upperBound] of this.#bounds.entries()) {
      upTo += this.#counts[index] as number;
      yield { suffix: '_bucket', labels, upperBound, value: upTo };
    }
    yield { suffix: '_bucket', labels, upperBound: Number.POSITIVE_INFINITY, value: this.#count };
    yield { suffix: '_sum', labels, value: this.#sum };
    yield { suffix: '_count', labels, value: this.#count };
  }
}

export class NumberFamily<Labels extends readonly string[]> extends MetricFamily<Labels, NumberSeries> {
  protected create(labels: string): NumberSeries {
    return new NumberSeries(labels);
  }
}

export class HistogramFamily<Labels extends readonly string[]> extends MetricFamily<Labels, HistogramSeries> {
  protected create(labels: string): HistogramSeries {
    return new HistogramSeries(labels, this.definition.buckets ?? []);
  }
}

export function labelText(names: readonly string[], values: readonly string[]): string {
  return names.map((name, index) => `${name}="${escapeLabelValue(values[index] ?? '')}"`).join(',');
}

/**
 * Escapes backslash, line feed and double quote (Prometheus text format 0.0.4), and replaces lone surrogates, which are not valid UTF-8.
 */
function escapeLabelValue(value: string): string {
  return value.toWellFormed().replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

const codes = new Map(Array.from({ length: 500 }, (_, index) => [index + 100, String(index + 100)]));

export function codeLabel(status: number): string {
  return codes.get(status) ?? otherLabel;
}

/** The text format of Prometheus, 0.0.4, which every scraper takes. */
export function expose(families: Iterable<ExposedFamily>): string {
  const lines: string[] = [];
  for (const family of families) appendFamily(lines, family);
  return `${lines.join('\n')}\n`;
}

function appendFamily(lines: string[], family: ExposedFamily): void {
  const { definition } = family;
  const help = helpOf(definition).replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  lines.push(`# HELP ${definition.name} ${help}`, `# TYPE ${definition.name} ${definition.type}`);
  for (const sample of family.samples()) lines.push(sampleLine(definition.name, sample));
}

function sampleLine(name: string, { suffix, labels, upperBound, value }: Sample): string {
  const bound = upperBound === undefined ? '' : `le="${numberText(upperBound)}"`;
  const all = labels === '' || bound === '' ? labels + bound : `${labels},${bound}`;
  return `${name}${suffix}${all === '' ? '' : `{${all}}`} ${numberText(value)}`;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
