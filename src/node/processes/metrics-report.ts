import * as v from 'valibot';
import { metricCatalogue } from '../metrics/catalogue.ts';
import type { MetricDefinition } from '../metrics/definition.ts';
import type { ExposedFamily, Sample } from '../metrics/metric-family.ts';

/**
 * A series: its labels as they are exposed, and its numbers: the value, or for a histogram the buckets as they are
 * exposed (each with all below it, +Inf last), the sum and the count.
 */
const seriesSchema = v.tupleWithRest([v.string()], v.number());

/** The metrics of one process, or of several together. */
export const metricsReportSchema = v.strictObject({
  /** IDs of the destinations that there are; `null` where none is known yet. */
  destinations: v.nullable(v.array(v.string())),
  families: v.array(v.strictObject({ name: v.string(), series: v.array(seriesSchema) })),
});

export type MetricsReport = v.InferOutput<typeof metricsReportSchema>;
export type ReportedSeries = readonly [labels: string, ...numbers: number[]];

const definitions: ReadonlyMap<string, MetricDefinition> = new Map(
  metricCatalogue.flatMap(({ metrics }) => metrics.map((definition) => [definition.name, definition])),
);

/** The catalogue's entry; `undefined` for a name that is not in it. */
export function definitionOf(name: string): MetricDefinition | undefined {
  return definitions.get(name);
}

/** What families say, in the form that goes from process to process. Numbers that JSON does not know are left out. */
export function reportOf(
  families: Iterable<ExposedFamily>,
  destinations: readonly string[] | undefined,
): MetricsReport {
  const reported: MetricsReport['families'] = [];
  for (const family of families) {
    const { definition } = family;
    const byLabels = new Map<string, number[]>();
    for (const sample of family.samples()) {
      const place = placeOf(sample, definition);
      if (place < 0 || !Number.isFinite(sample.value)) continue;
      let numbers = byLabels.get(sample.labels);
      if (numbers === undefined) {
        numbers = Array.from({ length: lengthOf(definition) }, () => 0);
        byLabels.set(sample.labels, numbers);
      }
      numbers[place] = sample.value;
    }
    const series = Array.from(byLabels, ([labels, numbers]): [string, ...number[]] => [labels, ...numbers]);
    reported.push({ name: definition.name, series });
  }
  return { destinations: destinations === undefined ? null : [...destinations], families: reported };
}

/** A report as families again. What is not in the catalogue is left out. */
export function familiesOf({ families }: MetricsReport): readonly ExposedFamily[] {
  return families.flatMap(({ name, series }) => {
    const definition = definitionOf(name);
    return definition === undefined ? [] : [{ definition, samples: () => samplesOf(definition, series) }];
  });
}

function* samplesOf(definition: MetricDefinition, series: readonly ReportedSeries[]): Generator<Sample> {
  for (const [labels, ...numbers] of series) {
    // Of another form than the catalogue's: no process of this version reports it.
    if (numbers.length !== lengthOf(definition)) continue;
    for (const [place, value] of numbers.entries()) yield sampleAt(definition, place, labels, value);
  }
}

/** Numbers of a series: for a histogram its bounds, +Inf, the sum and the count. */
export function lengthOf({ type, buckets = [] }: MetricDefinition): number {
  return type === 'histogram' ? buckets.length + 3 : 1;
}

function placeOf({ suffix, upperBound }: Sample, { buckets = [] }: MetricDefinition): number {
  if (suffix === '') return 0;
  if (suffix === '_sum') return buckets.length + 1;
  if (suffix === '_count') return buckets.length + 2;
  return upperBound === Number.POSITIVE_INFINITY ? buckets.length : buckets.indexOf(upperBound ?? 0);
}

function sampleAt(
  { type, buckets = [] }: MetricDefinition,
  place: number,
  labels: string,
  value: number,
): Sample {
  if (type !== 'histogram') return { suffix: '', labels, value };
  if (place === buckets.length + 1) return { suffix: '_sum', labels, value };
  if (place === buckets.length + 2) return { suffix: '_count', labels, value };
  return { suffix: '_bucket', labels, upperBound: buckets[place] ?? Number.POSITIVE_INFINITY, value };
}
