import type { HealthEndpoint } from './health-endpoints.ts';

/** A scrape, as it is sent. */
export interface Scrape {
  readonly contentType: string;
  readonly text: string;
}

/** Metrics of a runtime that has any, for `/metrics` and `/metrics/slis`. */
export interface MetricsSource {
  /** @param accept the scraper's Accept header, by which the format is chosen. */
  scrape(accept: string | undefined): Promise<Scrape>;
  /** Health checks alone (KEP-3466). */
  scrapeHealth(accept: string | undefined): Promise<Scrape>;
  /** A health check was run. */
  healthChecked(endpoint: HealthEndpoint, name: string, healthy: boolean): void;
}
