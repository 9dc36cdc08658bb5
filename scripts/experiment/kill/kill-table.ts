import type { Rows } from '../../report/text-table.ts';
import { countTable } from '../record/count-table.ts';
import { type KillResults, killedSetUps } from './kill-results.ts';

/** One column for each set-up that has been run. */
export function killRows({ setUps }: KillResults): Rows {
  return countTable(killedSetUps, setUps, [
    ['rounds', ({ rounds }) => String(rounds)],
    [
      'killed: routers, sync job, servers',
      ({ kills: { router, syncJob, server } }) => `${router}, ${syncJob}, ${server}`,
    ],
  ]);
}
