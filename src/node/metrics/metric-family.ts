type MetricType = 'counter' | 'gauge' | 'histogram';

export interface MetricDefinition<
  Labels extends readonly string[] = readonly string[],
  Type extends MetricType = MetricType,
> {
  /** In base units; ends in `_total` for counters, and in the unit (`_seconds`, `_bytes`) if there is one. */
  readonly name: string;
  readonly type: Type;
  /** One line; Kubernetes' stability level (component-base metrics) is added before it: ALPHA may change. */
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

const numberOf =
  <const Type extends 'counter' | 'gauge'>(type: Type) =>
  <const Labels extends readonly string[]>(
    name: string,
    help: string,
    labels: Labels,
    begins: readonly string[] = [],
  ): MetricDefinition<Labels, Type> => ({ name, type, help, labels, begins });

export const counter = numberOf('counter');
export const gauge = numberOf('gauge');

export function histogram<const Labels extends readonly string[]>(
  name: string,
  help: string,
  labels: Labels,
  buckets: readonly number[],
): MetricDefinition<Labels, 'histogram'> {
  return { name, type: 'histogram', help, labels, buckets };
}

type LabelValues<Labels extends readonly string[]> = { readonly [Index in keyof Labels]: string };

interface Series {
  lines(name: string): Iterable<string>;
}

/** Series of one metric at most: a cluster with hundreds of custom resources would have tens of thousands. */
const maximumSeries = 5_000;

export const otherLabel = 'other';

/**
 * Labels that a full metric keeps: they have few values, and an alert on errors asks for them. All others become `other`.
 */
const keptWhenFull: ReadonlySet<string> = new Set(['code', 'verb', 'source']);

/**
 * The series of one metric by label values. Callers keep the series that they use often: a look-up joins strings, counting
 * is an addition.
 */
class MetricFamily<Labels extends readonly string[], Cell extends Series> {
  readonly definition: MetricDefinition<Labels>;
  readonly #create: (labels: string) => Cell;
  readonly #series = new Map<string, Cell>();
  #folded = 0;

  constructor(definition: MetricDefinition<Labels>, create: (labels: string) => Cell) {
    this.definition = definition;
    this.#create = create;
    const { labels, begins = [] } = definition;
    for (const value of labels.length === 0 ? [''] : begins) {
      this.#series.set(value, this.#create(labelText(labels, [value])));
    }
  }

  with(...values: LabelValues<Labels>): Cell {
    const key = values.join('\0');
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    if (this.#series.size < maximumSeries) return this.#make(key, values);
    this.#folded += 1;
    const { labels } = this.definition;
    const kept = values.map((value, index) => (keptWhenFull.has(labels[index] ?? '') ? value : otherLabel));
    const keptKey = kept.join('\0');
    return this.#series.get(keptKey) ?? this.#make(keptKey, kept);
  }

  /** How often a set of labels found no room, and became `other`. */
  get folded(): number {
    return this.#folded;
  }

  #make(key: string, values: readonly string[]): Cell {
    const made = this.#create(labelText(this.definition.labels, values));
    this.#series.set(key, made);
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

  /** In the text format of Prometheus, 0.0.4, which every scraper takes. */
  *lines(): Generator<string> {
    const { name, type, help } = this.definition;
    const text = `[ALPHA] ${help}`.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
    yield `# HELP ${name} ${text}`;
    yield `# TYPE ${name} ${type}`;
    for (const series of this.#series.values()) yield* series.lines(name);
  }
}

export class NumberSeries implements Series {
  readonly #labels: string;
  value = 0;

  constructor(labels: string) {
    this.#labels = labels;
  }

  add(amount = 1): void {
    this.value += amount;
  }

  set(value: number): void {
    this.value = value;
  }

  *lines(name: string): Generator<string> {
    yield `${name}${braced(this.#labels)} ${this.value}`;
  }
}

export class HistogramSeries implements Series {
  readonly #labels: string;
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor(labels: string, bounds: readonly number[]) {
    this.#labels = labels;
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

  *lines(name: string): Generator<string> {
    const labels = this.#labels;
    const before = labels === '' ? '' : `${labels},`;
    let upTo = 0;
    for (const [index, upperBound] of this.#bounds.entries()) {
      upTo += this.#counts[index] as number;
      yield `${name}_bucket{${before}le="${upperBound}"} ${upTo}`;
    }
    yield `${name}_bucket{${before}le="+Inf"} ${this.#count}`;
    yield `${name}_sum${braced(labels)} ${this.#sum}`;
    yield `${name}_count${braced(labels)} ${this.#count}`;
  }
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}

export type FamilyOf<Definition extends MetricDefinition> = MetricFamily<
  Definition['labels'],
  Definition['type'] extends 'histogram' ? HistogramSeries : NumberSeries
>;

export function familyOf<const Definition extends MetricDefinition>(
  definition: Definition,
): FamilyOf<Definition> {
  const { type, buckets = [] } = definition;
  const create = (labels: string) =>
    type === 'histogram' ? new HistogramSeries(labels, buckets) : new NumberSeries(labels);
  return new MetricFamily(definition, create) as FamilyOf<Definition>;
}

function labelText(names: readonly string[], values: readonly string[]): string {
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

export function expose(families: Iterable<{ lines(): Iterable<string> }>): string {
  return `${[...families].flatMap((family) => [...family.lines()]).join('\n')}\n`;
}
