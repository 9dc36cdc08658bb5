import { collectDefaultMetrics, Registry } from 'prom-client';
import { type ExposedFamily, labelText, type Sample } from './metric-family.ts';
import { processCatalogue } from './process-catalogue.ts';

/** Made once: it observes garbage collection and the event loop of the process, and cannot be stopped. */
let registry: Registry | undefined;

/** Milliseconds between two samples of the delay of the event loop. */
const eventLoopMonitoringPrecision = 20;

/** The current metrics of the process, as far as the system provides them. */
export async function processFamilies(): Promise<readonly ExposedFamily[]> {
  if (registry === undefined) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
  }
  const collected = new Map(
    (await registry.getMetricsAsJSON()).map((metric) => [metric.name, metric.values]),
  );
  return processCatalogue.flatMap((definition) => {
    const values = collected.get(definition.name);
    if (values === undefined) return [];
    const samples = values.map((value) => sampleOf(definition.name, value));
    return [{ definition, samples: () => samples }];
  });
}

/** Starts to observe, so that the first scrape has values. */
export function watchProcess(): void {
  void processFamilies();
}

interface PromClientValue {
  readonly value: number;
  /** For a histogram: the name with `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
}

function sampleOf(name: string, { value, metricName = name, labels }: PromClientValue): Sample {
  const { le, ...others } = labels;
  const names = Object.keys(others);
  const suffix = metricName.slice(name.length);
  return {
    suffix: suffix === '_bucket' || suffix === '_sum' || suffix === '_count' ? suffix : '',
    labels: labelText(
      names,
      names.map((label) => String(others[label])),
    ),
    ...(le === undefined ? {} : { upperBound: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le) }),
    value,
  };
}
