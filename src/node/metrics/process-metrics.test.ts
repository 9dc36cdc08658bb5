import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { cpuUsage, memoryUsage } from 'node:process';
import { test } from 'node:test';
import { parseScrape, sampleValue } from '../../../test/support/prometheus-text.ts';
import { collectGarbage } from '../../../test/support/security/memory.ts';
import { processMetricNames, processMetrics } from './process-metrics.ts';

const scrape = async () => parseScrape(await processMetrics());

/** Occupies the event loop. */
function stop(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

test('the process is shown by the names that Prometheus clients of Node.js share', async () => {
  assert.deepEqual([...(await scrape()).keys()], processMetricNames);
});

test('CPU time, memory and files are those of this process, in base units', async () => {
  const { user, system } = cpuUsage();
  const families = await scrape();
  const value = (name: string): number => sampleValue(families, name) ?? Number.NaN;
  const cpu = value('process_cpu_seconds_total');
  assert.ok(cpu >= (user + system) / 1e6, 'not less than before');
  assert.ok(cpu <= (cpuUsage().user + cpuUsage().system) / 1e6, 'and not more than now');
  const { rss, external } = memoryUsage();
  const isNear = (name: string, bytes: number) =>
    assert.ok(value(name) > bytes / 2 && value(name) < bytes * 2, `${name} ${value(name)}, not ${bytes}`);
  isNear('process_resident_memory_bytes', rss);
  // Collections of garbage come between two looks.
  assert.ok(value('nodejs_external_memory_bytes') > external / 100);
  assert.ok(value('process_virtual_memory_bytes') > rss);
  assert.ok(value('nodejs_heap_size_used_bytes') < value('nodejs_heap_size_total_bytes'));
  isNear('process_open_fds', readdirSync('/proc/self/fd').length);
  assert.ok(value('process_max_fds') >= value('process_open_fds'));
  isNear('process_start_time_seconds', Date.now() / 1000 - process.uptime());
  const spaces = families.get('nodejs_heap_space_size_used_bytes')?.samples ?? [];
  assert.ok(spaces.some(({ labels, value: used }) => labels['space'] === 'old' && used > 0));
});

test('each of two scrapers sees a stop of the event loop, also one that begins with a scrape', async () => {
  await scrape();
  stop(600);
  for (let scraper = 0; scraper < 2; scraper++) {
    const longest = sampleValue(await scrape(), 'nodejs_eventloop_lag_max_seconds') ?? 0;
    assert.ok(longest >= 0.4, `${longest} s`);
  }
});

test('garbage collections are counted by their kind', async () => {
  const count = async () =>
    (await scrape())
      .get('nodejs_gc_duration_seconds')
      ?.samples.find(({ name, labels }) => name.endsWith('_count') && labels['kind'] === 'major')?.value ?? 0;
  const before = await count();
  collectGarbage();
  while ((await count()) === before);
});
