import { readdir, readFile } from 'node:fs/promises';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { cpuUsage, memoryUsage, uptime } from 'node:process';
import { getHeapSpaceStatistics } from 'node:v8';
import { familiesOf } from './catalogue.ts';
import { EventLoopDelay } from './event-loop-delay.ts';
import { counter, expose, gauge, histogram, type MetricDefinition, otherLabel } from './metric-family.ts';

/** Named as other Prometheus clients of Node.js name them, so that panels for one show the other. */
const processCatalogue = {
  cpuUser: counter('process_cpu_user_seconds_total', 'CPU time in user mode.', []),
  cpuSystem: counter('process_cpu_system_seconds_total', 'CPU time in the kernel.', []),
  cpu: counter('process_cpu_seconds_total', 'CPU time in all.', []),
  start: gauge('process_start_time_seconds', 'Start of the process, seconds since the epoch.', []),
  resident: gauge('process_resident_memory_bytes', 'Memory that is resident.', []),
  virtual: gauge('process_virtual_memory_bytes', 'Memory that is mapped. Linux only.', []),
  openFiles: gauge('process_open_fds', 'Open file descriptors. Linux only.', []),
  mostFiles: gauge('process_max_fds', 'File descriptors that may be open. Linux only.', []),
  delay: gauge(
    'nodejs_eventloop_lag_max_seconds',
    'Longest stop of the event loop in the last minute, as samples every 0.2 s show it.',
    [],
  ),
  heap: gauge('nodejs_heap_size_total_bytes', 'Size of the heap.', []),
  heapUsed: gauge('nodejs_heap_size_used_bytes', 'Used bytes of the heap.', []),
  external: gauge('nodejs_external_memory_bytes', 'Memory outside of the heap that its objects own.', []),
  space: gauge('nodejs_heap_space_size_total_bytes', 'Size of each space of the heap.', ['space']),
  spaceUsed: gauge('nodejs_heap_space_size_used_bytes', 'Used bytes of each space of the heap.', ['space']),
  collections: histogram(
    'nodejs_gc_duration_seconds',
    'Duration of garbage collections by kind: major, minor, incremental, weakcb.',
    ['kind'],
    [0.001, 0.01, 0.1, 1, 2, 5],
  ),
} satisfies Record<string, MetricDefinition>;

export const processMetricNames: readonly string[] = Object.values(processCatalogue).map(({ name }) => name);

/**
 * Milliseconds between two samples of the event loop. Each wakes the process: with 20, samples took two thirds of the CPU of a
 * router that nobody asks anything.
 */
const resolution = 200;

const kinds: ReadonlyMap<unknown, string> = new Map([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);

/** The kind of a garbage collection. */
function kindOf(entry: object): string {
  const detail = 'detail' in entry ? entry.detail : undefined;
  const kind = typeof detail === 'object' && detail !== null && 'kind' in detail ? detail.kind : undefined;
  return kinds.get(kind) ?? otherLabel;
}

class ObservedProcess {
  readonly #families = familiesOf(processCatalogue);
  readonly #delay = new EventLoopDelay(resolution, performance.now());

  constructor() {
    setInterval(() => this.#delay.sampled(performance.now()), resolution).unref();
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        this.#families.collections.with(kindOf(entry)).observe(entry.duration / 1000);
      }
    }).observe({ entryTypes: ['gc'] });
    this.#families.start.with().set(Math.floor(Date.now() / 1000 - uptime()));
  }

  async text(): Promise<string> {
    this.#families.delay.with().set(this.#delay.longest(performance.now()) / 1000);
    const { user, system } = cpuUsage();
    this.#families.cpuUser.with().set(user / 1e6);
    this.#families.cpuSystem.with().set(system / 1e6);
    this.#families.cpu.with().set((user + system) / 1e6);
    this.#readHeap();
    await this.#readKernel();
    return expose(Object.values(this.#families));
  }

  #readHeap(): void {
    const { rss, heapTotal, heapUsed, external } = memoryUsage();
    this.#families.resident.with().set(rss);
    this.#families.heap.with().set(heapTotal);
    this.#families.heapUsed.with().set(heapUsed);
    this.#families.external.with().set(external);
    for (const { space_name, space_size, space_used_size } of getHeapSpaceStatistics()) {
      const space = space_name.replace(/_space$/, '');
      this.#families.space.with(space).set(space_size);
      this.#families.spaceUsed.with(space).set(space_used_size);
    }
  }

  /** proc(5). Elsewhere than on Linux there are no such series. */
  async #readKernel(): Promise<void> {
    const numberIn = async (file: string, pattern: RegExp): Promise<number | undefined> => {
      const text = await readFile(`/proc/self/${file}`, 'utf8').catch(() => '');
      const [, digits] = pattern.exec(text) ?? [];
      return digits === undefined ? undefined : Number(digits);
    };
    const [kibibytes, most, open] = await Promise.all([
      numberIn('status', /^VmSize:\s*(\d+) kB$/m),
      numberIn('limits', /^Max open files\s+(\d+)/m),
      // Without the one by which the folder itself is read.
      readdir('/proc/self/fd').then(
        ({ length }) => length - 1,
        () => undefined,
      ),
    ]);
    const { virtual, openFiles, mostFiles } = this.#families;
    const read = [
      [virtual, kibibytes === undefined ? undefined : kibibytes * 1024],
      [openFiles, open],
      [mostFiles, most],
    ] as const;
    for (const [family, value] of read) {
      family.clear();
      if (value !== undefined) family.with().set(value);
    }
  }
}

/** One for the process: what it observes cannot be observed twice, and nothing is gained by ending it. */
let observed: ObservedProcess | undefined;

/** Begins to sample, so that the first scrape has values. */
export function observeProcess(): ObservedProcess {
  observed ??= new ObservedProcess();
  return observed;
}

export function processMetrics(): Promise<string> {
  return observeProcess().text();
}
