import type { AcrossProcesses, MetricDefinition } from '../metrics/definition.ts';
import { labelText } from '../metrics/label-text.ts';
import { definitionOf, lengthOf, type MetricsReport, type ReportedSeries } from './metrics-report.ts';

export interface ReportsToMerge {
  /** Of the process that is scraped. */
  readonly own: MetricsReport;
  /** Of the other processes that have answered. */
  readonly others: readonly MetricsReport[];
  /** Of those that have ended, or do not answer: what they have counted counts, how they were does not. */
  readonly countsOnly: readonly MetricsReport[];
}

/** One report that speaks for all processes, each family by the rule of the catalogue. Pure. */
export function mergeReports({ own, others, countsOnly }: ReportsToMerge): MetricsReport {
  const merged = new MergedFamilies();
  merged.add(own, () => true);
  for (const report of others) merged.add(report, ({ acrossProcesses }) => acrossProcesses !== 'own');
  for (const report of countsOnly) merged.add(report, isCounted);
  return { destinations: destinationsIn([own, ...others]), families: merged.families() };
}

/** The counters and histograms of these alone, added up. Pure. */
export function addCounts(reports: readonly MetricsReport[]): MetricsReport {
  const merged = new MergedFamilies();
  for (const report of reports) merged.add(report, isCounted);
  return { destinations: null, families: merged.families() };
}

/**
 * Without the series of destinations that are gone, as in one process (`DestinationSeriesIndex.retain`). Pure.
 * @param destinations `null`: none is known, nothing is left out
 */
export function withoutGoneDestinations(
  report: MetricsReport,
  destinations: MetricsReport['destinations'],
): MetricsReport {
  if (destinations === null) return report;
  const kept = new Set(destinations.map((id) => labelText(['destination'], [id])));
  const isKept = ([labels]: ReportedSeries): boolean => kept.has(firstLabelOf(labels));
  return {
    ...report,
    families: report.families.map(({ name, series }) => ({
      name,
      series: definitionOf(name)?.labels[0] === 'destination' ? series.filter(isKept) : series,
    })),
  };
}

/** All that any of them knows; `null` when none knows any. Pure. */
export function destinationsIn(reports: readonly MetricsReport[]): MetricsReport['destinations'] {
  const known = reports.flatMap(({ destinations }) => (destinations === null ? [] : [destinations]));
  return known.length === 0 ? null : [...new Set(known.flat())];
}

function isCounted({ type }: MetricDefinition): boolean {
  return type !== 'gauge';
}

/** The first of `a="…",b="…"`, whose values have their quotes escaped. */
function firstLabelOf(labels: string): string {
  return /^[a-z_]+="(?:[^"\\]|\\.)*"/.exec(labels)?.[0] ?? '';
}

interface MergedFamily {
  readonly definition: MetricDefinition;
  readonly byLabels: Map<string, number[]>;
}

class MergedFamilies {
  readonly #byName = new Map<string, MergedFamily>();

  add(report: MetricsReport, takes: (definition: MetricDefinition) => boolean): void {
    for (const { name, series } of report.families) {
      const definition = definitionOf(name);
      if (definition === undefined) continue;
      let family = this.#byName.get(name);
      if (family === undefined) {
        family = { definition, byLabels: new Map() };
        this.#byName.set(name, family);
      }
      if (takes(definition)) addSeries(family, series);
    }
  }

  families(): MetricsReport['families'] {
    return Array.from(this.#byName, ([name, { byLabels }]) => ({
      name,
      series: Array.from(byLabels, ([labels, numbers]): [string, ...number[]] => [labels, ...numbers]),
    }));
  }
}

function addSeries({ definition, byLabels }: MergedFamily, series: readonly ReportedSeries[]): void {
  const rule = definition.type === 'gauge' ? (definition.acrossProcesses ?? 'sum') : 'sum';
  const length = lengthOf(definition);
  for (const [labels, ...numbers] of series) {
    if (numbers.length !== length) continue;
    const merged = byLabels.get(labels);
    byLabels.set(labels, merged === undefined ? numbers : combine(rule, merged, numbers));
  }
}

function combine(rule: AcrossProcesses, left: readonly number[], right: readonly number[]): number[] {
  return left.map((value, index) => combineNumbers(rule, value, right[index] ?? 0));
}

function combineNumbers(rule: AcrossProcesses, left: number, right: number): number {
  switch (rule) {
    case 'sum':
      return left + right;
    case 'max':
      return Math.max(left, right);
    case 'min':
      return Math.min(left, right);
    case 'own':
      return left;
  }
}
