import type { Rows } from '../../report/text-table.ts';
import { setUpTitles } from '../cluster/set-ups.ts';
import { countLines, countRow } from '../record/count-lines.ts';
import { type KillResults, killedSetUps } from './kill-results.ts';

/** One column for each set-up that has been run. */
export function killRows({ setUps }: KillResults): Rows {
  const run = killedSetUps.flatMap((name) => {
    const outcome = setUps[name];
    return outcome === undefined ? [] : [{ title: setUpTitles[name], outcome }];
  });
  return [
    ['', ...run.map(({ title }) => title)],
    ['rounds', ...run.map(({ outcome }) => String(outcome.rounds))],
    [
      'killed: routers, sync job, servers',
      ...run.map(({ outcome: { kills } }) => `${kills.router}, ${kills.syncJob}, ${kills.server}`),
    ],
    ...countLines.map((line) =>
      countRow(
        line,
        run.map(({ outcome }) => outcome),
      ),
    ),
  ];
}
