import { collectDefaultMetrics, Registry } from 'prom-client';
import {
  counter,
  type ExposedFamily,
  gauge,
  histogram,
  labelText,
  type MetricDefinition,
  type Sample,
  stable,
} from './metric-family.ts';

/**
 * The default metrics of prom-client that are exposed. Left out: lists of active handles and requests, which visit every
 * open socket at each scrape, gauges with names of counters, and a mean that is NaN after a scrape.
 */
export const processCatalogue: readonly MetricDefinition[] = [
  counter('process_cpu_user_seconds_total', 'CPU time of the process in user mode.', []),
  counter('process_cpu_system_seconds_total', 'CPU time of the process in the kernel.', []),
  counter('process_cpu_seconds_total', 'CPU time of the process.', []),
  gauge('process_start_time_seconds', 'Start of the process, in seconds since the epoch.', []),
  gauge('process_resident_memory_bytes', 'Resident memory of the process.', []),
  gauge('process_virtual_memory_bytes', 'Virtual memory of the process.', []),
  gauge('process_open_fds', 'Open file descriptors.', []),
  gauge('process_max_fds', 'File descriptors that the process may open.', []),
  gauge('nodejs_eventloop_lag_p50_seconds', 'Median delay of the event loop since the last scrape.', []),
  gauge(
    'nodejs_eventloop_lag_p99_seconds',
    '99th percentile of the delay of the event loop since the last scrape.',
    [],
  ),
  gauge('nodejs_eventloop_lag_max_seconds', 'Longest delay of the event loop since the last scrape.', []),
  gauge('nodejs_heap_size_total_bytes', "Size of V8's heap.", []),
  gauge('nodejs_heap_size_used_bytes', "Used part of V8's heap.", []),
  gauge('nodejs_external_memory_bytes', 'Memory outside of the heap that JavaScript objects hold.', []),
  gauge('nodejs_heap_space_size_total_bytes', "Size of each of the spaces of V8's heap.", ['space']),
  gauge('nodejs_heap_space_size_used_bytes', "Used part of each of the spaces of V8's heap.", ['space']),
  histogram(
    'nodejs_gc_duration_seconds',
    'Pauses of garbage collection by kind: major, minor, incremental, weakcb.',
    ['kind'],
    [0.001, 0.01, 0.1, 1, 2, 5],
  ),
].map(stable);

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
