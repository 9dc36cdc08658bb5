import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/**
 * The default metrics of prom-client that are exposed. Left out: lists of active handles and requests, which visit every open
 * socket at each scrape, and gauges with names of counters.
 */
export const processMetricNames: readonly string[] = [
  'process_cpu_user_seconds_total',
  'process_cpu_system_seconds_total',
  'process_cpu_seconds_total',
  'process_start_time_seconds',
  'process_resident_memory_bytes',
  'process_virtual_memory_bytes',
  'process_open_fds',
  'process_max_fds',
  'nodejs_eventloop_lag_max_seconds',
  'nodejs_heap_size_total_bytes',
  'nodejs_heap_size_used_bytes',
  'nodejs_external_memory_bytes',
  'nodejs_heap_space_size_total_bytes',
  'nodejs_heap_space_size_used_bytes',
  'nodejs_gc_duration_seconds',
];

/** The maximum, not a percentile: of hundreds of samples between two scrapes one long stop would not show. */
const eventLoopLag = 'nodejs_eventloop_lag_max_seconds';

/**
 * Milliseconds between two samples of the delay of the event loop. Each wakes the process: with 20, samples took two
 * thirds of the CPU of a router that nobody asks anything. A stop that is longer than this is in a sample for certain.
 */
const resolution = 200;

/** Made once: it observes garbage collection and the event loop of the process, and cannot be stopped. */
let registry: Registry | undefined;

export async function processMetrics(): Promise<string> {
  registry ??= observedProcess();
  // Between its families prom-client has empty lines.
  return (await registry.metrics()).replaceAll('\n\n', '\n');
}

function observedProcess(): Registry {
  const observed = new Registry();
  // Its own samples of the event loop are not used.
  collectDefaultMetrics({ register: observed, eventLoopMonitoringPrecision: 3_600_000 });
  for (const { name } of observed.getMetricsAsArray()) {
    if (name === eventLoopLag || !processMetricNames.includes(name)) observed.removeSingleMetric(name);
  }
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  new Gauge({
    name: eventLoopLag,
    help: 'Longest delay of the event loop since the last scrape.',
    registers: [observed],
    collect() {
      // Node counts the time between two samples, which is no delay.
      this.set(Math.max(0, delay.max / 1e9 - resolution / 1000));
      delay.reset();
    },
  });
  return observed;
}
