import { figure, spreadText } from '../../report/format.ts';
import type { Rows } from '../../report/text-table.ts';
import { type ContenderName, contenderNames } from '../rivals/contender.ts';
import { titleOf } from '../rivals/contenders.ts';
import { addedOver, cpuTime, type FigurePick, leastCpuTime, ratioOver, spreadOver } from './ratios.ts';
import type { ThroughputResults, WorkloadResults } from './results.ts';
import { workloads } from './workloads.ts';

const summarized: readonly ContenderName[] = ['router', 'go', 'nginx', 'haproxy'];

/** One row for each contender that was measured with the workload. */
export function throughputRows({ rounds }: WorkloadResults): Rows {
  const hasLatency = rounds.some(({ rate }) => rate !== undefined);
  const headings = [
    '',
    'CPU, µs a request',
    '× Go',
    '× Go in the best pass',
    '× nginx',
    'requests/s',
    'peak memory, MiB',
  ];
  const names = contenderNames.filter((name) =>
    rounds.some(({ contenders }) => contenders[name] !== undefined),
  );
  const row = (name: ContenderName): string[] => {
    const isProxy = name !== 'direct';
    const ofProxy = (text: () => string): string => (isProxy ? text() : '–');
    const ratio = (reference: ContenderName, pick: FigurePick): string =>
      ofProxy(() => spreadText(ratioOver(rounds, name, reference, pick)));
    return [
      titleOf(name),
      ofProxy(() => spreadText(spreadOver(rounds, name, cpuTime))),
      ratio('go', cpuTime),
      ratio('go', leastCpuTime),
      ratio('nginx', cpuTime),
      median(rounds, name, ({ requestsPerSecond }) => requestsPerSecond),
      ofProxy(() => median(rounds, name, ({ peakMemory }) => peakMemory / 1024)),
      ...(hasLatency ? latencyCells(rounds, name) : []),
    ];
  };
  return [[...headings, ...(hasLatency ? ['p50, ms', 'p99, ms'] : [])], ...names.map(row)];
}

/** One row for each workload: CPU time of the contenders that readers know, and what else the router takes. */
export function summaryRows(results: ThroughputResults): Rows {
  const headings = ['CPU, µs a request', ...summarized.map(titleOf), 'requests/s', 'peak memory, MiB'];
  const rows = workloads.flatMap(({ name, title }) => {
    const rounds = results.workloads[name]?.rounds;
    if (rounds === undefined) return [];
    return [
      [
        title,
        ...summarized.map((contender) => median(rounds, contender, cpuTime)),
        median(rounds, 'router', ({ requestsPerSecond }) => requestsPerSecond),
        median(rounds, 'router', ({ peakMemory }) => peakMemory / 1024),
      ],
    ];
  });
  return [headings, ...rows];
}

/** Without a proxy as it is, with one what it adds to that. */
function latencyCells(rounds: WorkloadResults['rounds'], name: ContenderName): string[] {
  return (['p50', 'p99'] as const).map((share) => {
    const pick = ({ latency }: { latency?: { p50: number; p99: number } | undefined }) => latency?.[share];
    return name === 'direct'
      ? spreadText(spreadOver(rounds, name, pick))
      : signed(spreadText(addedOver(rounds, name, pick)));
  });
}

/** With a plus: on a busy machine less than nothing may have been added. */
function signed(text: string): string {
  return /^\d/.test(text) ? `+${text}` : text;
}

function median(rounds: WorkloadResults['rounds'], name: ContenderName, pick: FigurePick) {
  return figure(spreadOver(rounds, name, pick)?.median ?? Number.NaN);
}
