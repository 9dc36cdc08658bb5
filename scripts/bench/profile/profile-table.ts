import { figure } from '../../report/format.ts';
import type { Rows } from '../../report/text-table.ts';
import { contenderNames } from '../rivals/contender.ts';
import { titleOf } from '../rivals/contenders.ts';
import { places, placeTitles } from './places.ts';
import type { ProfileResults } from './profile-results.ts';

/** Microseconds of a request, one row for each contender that was looked at. */
export function profileRows({ contenders }: ProfileResults['workloads'][number]): Rows {
  const headings = ['µs of a request', ...places.map((place) => placeTitles[place]), 'together'];
  const rows = contenderNames.flatMap((name) => {
    const figures = contenders[name];
    if (figures === undefined) return [];
    const { cpuTimePerRequest, shares } = figures;
    return [
      [
        titleOf(name),
        ...places.map((place) => figure((shares[place] ?? 0) * cpuTimePerRequest)),
        figure(cpuTimePerRequest),
      ],
    ];
  });
  return [headings, ...rows];
}
