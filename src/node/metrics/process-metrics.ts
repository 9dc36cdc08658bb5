import { collectDefaultMetrics, Registry } from 'prom-client';
import { labelText } from './label-text.ts';
import type { ExposedFamily, Sample } from './metric-family.ts';
import { processCatalogue } from './process-catalogue.ts';

/** Made once: it watches garbage collection and the event loop of the process from then on, and is never stopped. */
let registry: Registry | undefined;

/** Milliseconds between two looks at the delay of the event loop. */
const eventLoopMonitoringPrecision = 20;

/** The process' own metrics, as they are now. What the system does not tell is left out. */
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

/** Starts watching, so that the first scrape has something to tell. */
export function watchProcess(): void {
  void processFamilies();
}

interface PromClientValue {
  readonly value: number;
  /** Of a histogram: with `_bucket`, `_sum` or `_count` behind the name. */
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
