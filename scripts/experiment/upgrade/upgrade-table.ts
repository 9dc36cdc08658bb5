import type { Rows } from '../../bench/report/text-table.ts';
import { setUpNames, setUpTitles } from '../cluster/set-ups.ts';
import type { SetUpOutcome, UpgradeResults } from './upgrade-results.ts';

const lines: readonly (readonly [title: string, value: (outcome: SetUpOutcome) => number])[] = [
  ['requests', ({ requests }) => requests],
  ['**wrong 404s**', ({ findings }) => findings.wrongNotFound],
  ['**reads answered with 5xx**', ({ findings }) => findings.readServerErrors],
  ['**reads that failed in the end**', ({ findings }) => findings.failedReads],
  ['**discovery errors**', ({ findings }) => findings.discoveryErrors],
  ['**watch events lost**', ({ lostEvents }) => lostEvents],
  ['**writes made twice**', ({ doubledWrites }) => doubledWrites],
  ['writes answered with 5xx', ({ findings }) => findings.writeServerErrors],
  ['writes without an answer', ({ findings }) => findings.unknownWrites],
  ['execs that failed', ({ findings }) => findings.failedExecs],
  ['reads asked again after a broken connection', ({ findings }) => findings.brokenReads],
  ['watches that broke', ({ findings }) => findings.brokenWatches],
  ['latest arrival of an event, ms', ({ longestEventDelay }) => longestEventDelay],
];

/** One column for each set-up that has been run. */
export function upgradeRows({ setUps }: UpgradeResults): Rows {
  const run = setUpNames.flatMap((name) => {
    const outcome = setUps[name];
    return outcome === undefined ? [] : [{ title: setUpTitles[name], outcome }];
  });
  return [
    ['', ...run.map(({ title }) => title)],
    ...lines.map(([title, value]) => [
      title,
      ...run.map(({ outcome }) => value(outcome).toLocaleString('en-US')),
    ]),
  ];
}
