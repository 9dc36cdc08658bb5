import { spreadOf } from '../../harness/statistics.ts';
import { figure, spreadText } from '../../report/format.ts';
import type { Rows } from '../../report/text-table.ts';
import { contenderNames } from '../rivals/contender.ts';
import { titleOf } from '../rivals/contenders.ts';
import { type WatchFigures, type WatchResults, watchModes } from './watch-results.ts';

type ModeResults = NonNullable<WatchResults['modes']['http2']>;

/** One row for each contender that was measured. */
export function watchRows(results: ModeResults): Rows {
  const headings = [
    '',
    'KiB a watch',
    'sockets',
    'µs an event',
    'event p50, ms',
    'event p99, ms',
    'until all have it, ms',
  ];
  const rows = contenderNames.flatMap((name) => {
    const measured = results.rounds.flatMap((round) => round[name] ?? []);
    if (measured.length === 0) return [];
    const spread = (pick: (figures: WatchFigures) => number) => spreadText(spreadOf(measured.map(pick)));
    const isProxy = name !== 'direct';
    return [
      [
        titleOf(name),
        isProxy ? spread(({ memoryPerWatch }) => memoryPerWatch) : '–',
        isProxy ? figure(spreadOf(measured.map(({ sockets }) => sockets))?.median ?? Number.NaN) : '–',
        isProxy ? spread(({ cpuTimePerEvent }) => cpuTimePerEvent) : '–',
        arrivalText(measured, ({ p50 }) => p50),
        arrivalText(measured, ({ p99 }) => p99),
        arrivalText(measured, ({ all }) => all),
      ],
    ];
  });
  return [headings, ...rows];
}

/** One row for each contender, with the medians that readers compare, of both modes. */
export function watchSummaryRows({ modes }: WatchResults): Rows {
  const measuredModes = watchModes.flatMap((mode) =>
    modes[mode] === undefined ? [] : [{ mode, results: modes[mode] }],
  );
  const headings = measuredModes.flatMap(({ mode }) => {
    const protocol = mode === 'http1' ? 'HTTP/1.1' : 'HTTP/2';
    return [`KiB a watch, ${protocol}`, `event p99, ms, ${protocol}`];
  });
  const rows = contenderNames.flatMap((name) => {
    const cells = measuredModes.flatMap(({ results }) => {
      const measured = results.rounds.flatMap((round) => round[name] ?? []);
      const memory = spreadOf(measured.map(({ memoryPerWatch }) => memoryPerWatch));
      const p99 = spreadOf(measured.flatMap(({ arrivals }) => arrivals.map(({ p99: each }) => each)));
      return [name === 'direct' ? undefined : memory, p99].map((spread) =>
        spread ? figure(spread.median) : '–',
      );
    });
    return cells.every((cell) => cell === '–') ? [] : [[titleOf(name), ...cells]];
  });
  return [['', ...headings], ...rows];
}

/** Over all events of all rounds. */
function arrivalText(
  measured: readonly WatchFigures[],
  pick: (arrivals: WatchFigures['arrivals'][number]) => number,
): string {
  return spreadText(spreadOf(measured.flatMap(({ arrivals }) => arrivals.map(pick))));
}
