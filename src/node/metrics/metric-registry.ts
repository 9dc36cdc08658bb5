import { HistogramFamily, type MetricDefinition, NumberFamily } from './metric-family.ts';
import { processCatalogue } from './process-metrics.ts';
import { destinationCatalogue, requestCatalogue } from './request-catalogue.ts';
import { sliCatalogue, stateCatalogue, syncCatalogue } from './state-catalogue.ts';

export type MetricsPath = '/metrics' | '/metrics/slis';

/** Metrics that belong together, as docs/reference/metrics.md shows them. */
interface CatalogueSection {
  readonly heading: string;
  /** The path under which they are scraped. */
  readonly path: MetricsPath;
  readonly metrics: readonly MetricDefinition[];
}

/**
 * All metrics of the router. They are registered from this list, docs/reference/metrics.md is generated from it, and tests
 * compare a scrape with it.
 */
export const metricCatalogue: readonly CatalogueSection[] = [
  { heading: 'Requests', path: '/metrics', metrics: Object.values(requestCatalogue) },
  { heading: 'Destinations', path: '/metrics', metrics: Object.values(destinationCatalogue) },
  { heading: 'Snapshot, files, connections', path: '/metrics', metrics: Object.values(stateCatalogue) },
  { heading: 'Reading the cluster', path: '/metrics', metrics: Object.values(syncCatalogue) },
  { heading: 'Process', path: '/metrics', metrics: processCatalogue },
  { heading: 'Health checks', path: '/metrics/slis', metrics: Object.values(sliCatalogue) },
];

type FamilyOf<Definition extends MetricDefinition> = Definition['type'] extends 'histogram'
  ? HistogramFamily<Definition['labels']>
  : NumberFamily<Definition['labels']>;

type FamiliesOf<Catalogue extends Readonly<Record<string, MetricDefinition>>> = {
  readonly [Name in keyof Catalogue]: FamilyOf<Catalogue[Name]>;
};

/** One family for each entry of the catalogue, all at zero. */
export interface MetricRegistry {
  readonly requests: FamiliesOf<typeof requestCatalogue>;
  readonly destinations: FamiliesOf<typeof destinationCatalogue>;
  readonly state: FamiliesOf<typeof stateCatalogue>;
  readonly sync: FamiliesOf<typeof syncCatalogue>;
  readonly slis: FamiliesOf<typeof sliCatalogue>;
}

export function createMetricRegistry(): MetricRegistry {
  return {
    requests: familiesOf(requestCatalogue),
    destinations: familiesOf(destinationCatalogue),
    state: familiesOf(stateCatalogue),
    sync: familiesOf(syncCatalogue),
    slis: familiesOf(sliCatalogue),
  };
}

function familiesOf<Catalogue extends Readonly<Record<string, MetricDefinition>>>(
  catalogue: Catalogue,
): FamiliesOf<Catalogue> {
  const families = Object.entries(catalogue).map(([name, definition]) => [
    name,
    definition.type === 'histogram' ? new HistogramFamily(definition) : new NumberFamily(definition),
  ]);
  // Each entry is made as `FamilyOf` says.
  return Object.fromEntries(families) as FamiliesOf<Catalogue>;
}
