/** One graph of the dashboard. */
export interface Panel {
  readonly title: string;
  /** What the reader learns from it, and what good looks like. */
  readonly description: string;
  /** Grafana's name of the unit. */
  readonly unit: 'reqps' | 's' | 'short' | 'bytes' | 'binBps' | 'percentunit';
  readonly queries: readonly { readonly expression: string; readonly legend: string }[];
}

/** Panels that answer one question. */
export interface PanelRow {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** Of the routers that the reader has picked. */
export const routers = 'job=~"$job",instance=~"$instance"';

/** How fast a counter rises. @param labels of it, as a selector holds them */
export const rate = (metric: string, labels = '') =>
  `rate(${metric}{${routers}${labels === '' ? '' : `,${labels}`}}[$__rate_interval])`;

/** A quantile of a histogram. @param share from 0 to 1 */
export const quantile = (share: string, metric: string, by = 'le') =>
  `histogram_quantile(${share}, sum by (${by}) (${rate(`${metric}_bucket`)}))`;
