import type { Rows } from '../../report/text-table.ts';
import { type SetUpName, setUpTitles } from '../cluster/set-ups.ts';
import type { Counts } from './counts.ts';

/** A line of the tables: what must be zero behind a router of this project stands bold. */
type CountLine = readonly [title: string, value: (counts: Counts) => number];

const countLines: readonly CountLine[] = [
  ['requests', ({ requests }) => requests],
  ['**wrong 404s**', ({ findings }) => findings.wrongNotFound],
  ['**reads answered with 5xx**', ({ findings }) => findings.readServerErrors],
  ['**reads that failed in the end**', ({ findings }) => findings.failedReads],
  ['**discovery errors**', ({ findings }) => findings.discoveryErrors],
  ['**watch events lost**', ({ lostEvents }) => lostEvents],
  ['**writes made twice**', ({ doubledWrites }) => doubledWrites],
  ['writes answered with 5xx', ({ findings }) => findings.writeServerErrors],
  ['writes without a response', ({ findings }) => findings.unknownWrites],
  ['execs that failed', ({ findings }) => findings.failedExecs],
  ['refused while no server had the resource', ({ findings }) => findings.refusedWithoutServer],
  ['reads asked again after a broken connection', ({ findings }) => findings.brokenReads],
  ['watches that broke', ({ findings }) => findings.brokenWatches],
  ['latest arrival of an event, ms', ({ longestEventDelay }) => longestEventDelay],
];

/** A column for each set-up that has been run. @param more lines above those that count */
export function countTable<Outcome extends Counts>(
  names: readonly SetUpName[],
  outcomes: { readonly [Name in SetUpName]?: Outcome | undefined },
  more: readonly (readonly [title: string, cell: (outcome: Outcome) => string])[] = [],
): Rows {
  const run = names.flatMap((name) => {
    const outcome = outcomes[name];
    return outcome === undefined ? [] : [{ title: setUpTitles[name], outcome }];
  });
  const row = (title: string, cell: (outcome: Outcome) => string): string[] => [
    title,
    ...run.map(({ outcome }) => cell(outcome)),
  ];
  return [
    ['', ...run.map(({ title }) => title)],
    ...more.map(([title, cell]) => row(title, cell)),
    ...countLines.map(([title, value]) => row(title, (counts) => value(counts).toLocaleString('en-US'))),
  ];
}
