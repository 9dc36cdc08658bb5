import type { LabelValues, MetricDefinition } from './definition.ts';
import { labelText } from './label-text.ts';

/** One line of a scrape. */
export interface Sample {
  /** Behind the metric's name: `_bucket`, `_sum`, `_count`, or nothing. */
  readonly suffix: '' | '_bucket' | '_sum' | '_count';
  /** `name="value",…`, escaped; empty without labels. */
  readonly labels: string;
  /** Upper bound of a bucket. */
  readonly upperBound?: number;
  readonly value: number;
}

/** A metric as it stands at the moment of a scrape. */
export interface ExposedFamily {
  readonly definition: MetricDefinition;
  samples(): Iterable<Sample>;
}

/** The series of one metric that has a given set of label values. */
interface Series {
  readonly labels: string;
  samples(): Iterable<Sample>;
}

/**
 * Series of one metric at most. Labels are bounded by what they hold; this is the wall behind it, for the day on
 * which one of them is not. What comes later counts under `other`.
 */
const maximumSeries = 5_000;

/** What label values are called that are too many, or that a client could choose. */
export const otherLabel = 'other';

/**
 * The series of one metric by their label values. Callers keep the series that they use often: looking one up
 * joins strings, counting in it is an addition (prom-client hashes the labels at every count).
 */
abstract class MetricFamily<Labels extends readonly string[], Cell extends Series> implements ExposedFamily {
  readonly definition: MetricDefinition<Labels>;
  readonly #series = new Map<string, Cell>();

  constructor(definition: MetricDefinition<Labels>) {
    this.definition = definition;
    // A metric without labels is there from the start, as zero.
    if (definition.labels.length === 0) this.#series.set('', this.create(''));
  }

  protected abstract create(labels: string): Cell;

  /** The series with these label values, made if it is new. */
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

  /** Forgets the series that no longer stand for anything. @param isGone told the label values, in order. */
  remove(isGone: (...values: readonly string[]) => boolean): void {
    for (const key of this.#series.keys()) {
      if (isGone(...key.split('\0'))) this.#series.delete(key);
    }
  }

  /** Forgets every series: for gauges that are written anew at each scrape. */
  clear(): void {
    this.#series.clear();
  }

  *samples(): Generator<Sample> {
    for (const series of this.#series.values()) yield* series.samples();
  }
}

/** A number that only rises, or one that is set. */
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

/** A distribution in buckets. */
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

/** Counters and gauges. */
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
