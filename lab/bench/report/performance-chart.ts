import { type Spread, spreadOf } from '../../harness/statistics.ts';
import { contenderNames, type RecordedName } from '../rivals/contender.ts';
import { titleOf } from '../rivals/contenders.ts';
import { cpuTime, spreadOver } from '../throughput/ratios.ts';
import type { ThroughputResults } from '../throughput/results.ts';
import type { WatchResults } from '../watches/watch-results.ts';
import { type Bar, barChart, type Panel } from './bar-chart.ts';

/**
 * The plot of docs/explanation/performance.md: CPU time of the main workloads and memory of a watch, as far as
 * recorded.
 */
export function performanceChart(
  throughput: ThroughputResults | undefined,
  watches: WatchResults | undefined,
): string {
  const cpu = (['http1-get', 'http2-get'] as const).flatMap((name): Panel[] => {
    const rounds = throughput?.workloads[name]?.rounds;
    if (rounds === undefined) return [];
    const title = `GET of 1 KB, ${name === 'http1-get' ? 'HTTP/1.1' : 'HTTP/2'}`;
    return [
      {
        title,
        unit: 'µs of CPU time a request',
        bars: bars((contender) => spreadOver(rounds, contender, cpuTime)),
      },
    ];
  });
  const memory = (['http1', 'http2'] as const).flatMap((mode): Panel[] => {
    const results = watches?.modes[mode];
    if (results === undefined) return [];
    const title = `Idle watch, client on ${mode === 'http1' ? 'HTTP/1.1' : 'HTTP/2'}`;
    const spread = (contender: RecordedName) =>
      spreadOf(results.rounds.flatMap((round) => round[contender]?.memoryPerWatch ?? []));
    return [
      { title, unit: `KiB of memory, of ${results.watches.toLocaleString('en-US')}`, bars: bars(spread) },
    ];
  });
  return barChart('CPU time a request and memory a watch, of Mixed Version Proxy and other proxies', [
    ...cpu,
    ...memory,
  ]);
}

function bars(spreadFor: (name: RecordedName) => Spread | undefined): Bar[] {
  return contenderNames
    .filter((name) => name !== 'direct')
    .flatMap((name) => {
      const spread = spreadFor(name);
      return spread === undefined ? [] : [{ label: titleOf(name), spread, emphasized: name === 'router' }];
    });
}
