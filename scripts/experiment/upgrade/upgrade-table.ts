import type { Rows } from '../../report/text-table.ts';
import { setUpNames, setUpTitles } from '../cluster/set-ups.ts';
import { countLines, countRow } from '../record/count-lines.ts';
import type { UpgradeOutcomes } from './upgrade-results.ts';

/** One column for each set-up that has been run. */
export function upgradeRows(setUps: UpgradeOutcomes): Rows {
  const run = setUpNames.flatMap((name) => {
    const outcome = setUps[name];
    return outcome === undefined ? [] : [{ title: setUpTitles[name], outcome }];
  });
  return [
    ['', ...run.map(({ title }) => title)],
    ...countLines.map((line) =>
      countRow(
        line,
        run.map(({ outcome }) => outcome),
      ),
    ),
  ];
}
