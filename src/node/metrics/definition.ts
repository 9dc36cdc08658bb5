/** Kubernetes' stability levels of metrics (component-base metrics): ALPHA may change, STABLE will not. */
export type StabilityLevel = 'ALPHA' | 'STABLE';

/** One metric, as it is documented and registered. */
export interface MetricDefinition<Labels extends readonly string[] = readonly string[]> {
  /** In base units; ends in `_total` for counters, and in the unit (`_seconds`, `_bytes`) if there is one. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly stability: StabilityLevel;
  /** One line; the stability level is added before it. */
  readonly help: string;
  readonly labels: Labels;
  /** Upper bounds of a histogram in ascending order, without +Inf. */
  readonly buckets?: readonly number[];
}

/** Values for labels, in the same order. */
export type LabelValues<Labels extends readonly string[]> = { readonly [Index in keyof Labels]: string };

export function helpOf({ stability, help }: Pick<MetricDefinition, 'stability' | 'help'>): string {
  return `[${stability}] ${help}`;
}
