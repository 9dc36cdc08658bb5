import type { MetricDefinition } from './definition.ts';
import { destinationCatalogue } from './destination-catalogue.ts';
import { processCatalogue } from './process-catalogue.ts';
import { requestCatalogue } from './request-catalogue.ts';
import { sliCatalogue, stateCatalogue } from './state-catalogue.ts';
import { syncCatalogue } from './sync-catalogue.ts';

/** Where metrics are scraped. */
export type MetricsPath = '/metrics' | '/metrics/slis';

/** Metrics that belong together, as docs/reference/metrics.md shows them. */
export interface CatalogueSection {
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
