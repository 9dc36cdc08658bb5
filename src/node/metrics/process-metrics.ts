import { collectDefaultMetrics, Registry } from 'prom-client';
import { processCatalogue } from './catalogue.ts';
import { type ExposedFamily, labelText, type Sample } from './metric-family.ts';

/** Made once: it observes garbage collection and the event loop of the process, and cannot be stopped. */
let registry: Registry | undefined;

/**
 * Milliseconds between two samples of the delay of the event loop. Each wakes the process: with 20, samples took two
 * thirds of the CPU of a router that nobody asks anything. A stop that is longer than this is in a sample for certain.
 */
const eventLoopMonitoringPrecision = 200;

/** CPU, memory, event loop and garbage collection of this process, observed from the first call on. */
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
    // Node counts the time between two samples, which is no delay.
    const between = definition.name.startsWith('nodejs_eventloop_lag_')
      ? eventLoopMonitoringPrecision / 1000
      : 0;
    const samples = values.map((value) =>
      sampleOf(definition.name, { ...value, value: value.value - Math.min(value.value, between) }),
    );
    return [{ definition, samples: () => samples }];
  });
}

interface PromClientValue {
  readonly value: number;
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
