/** Kubernetes' stability levels of metrics (component-base metrics): ALPHA may change, STABLE will not. */
export type StabilityLevel = 'ALPHA' | 'STABLE';

/**
 * What a gauge of a router of several processes is: of what all of them say the sum, the highest or the lowest; or what
 * the process says that is scraped. Counters and histograms are always summed.
 */
export type AcrossProcesses = 'sum' | 'max' | 'min' | 'own';

/** One metric as it is documented and registered. */
export interface MetricDefinition<Labels extends readonly string[] = readonly string[]> {
  /** In base units, ending in `_total` for counters and in the unit (`_seconds`, `_bytes`) for what has one. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly stability: StabilityLevel;
  /** One line; the stability level is put before it. */
  readonly help: string;
  readonly labels: Labels;
  /** Upper bounds of a histogram, rising, without +Inf. */
  readonly buckets?: readonly number[];
  /** Of every gauge, and of nothing else. */
  readonly acrossProcesses?: AcrossProcesses;
}

/** Values for labels, in their order. */
export type LabelValues<Labels extends readonly string[]> = { readonly [Index in keyof Labels]: string };

export function helpOf({ stability, help }: Pick<MetricDefinition, 'stability' | 'help'>): string {
  return `[${stability}] ${help}`;
}
