import type { Outcome } from './ginkgo.ts';
import { type WayIn, waysIn } from './way-in.ts';

/** What one run by one way in is judged by. */
export interface RunToCompare {
  readonly way: WayIn;
  readonly run: number;
  readonly results: Readonly<Record<string, { readonly outcome: Outcome }>>;
}

/** Why a test does not pass everywhere, for all whose names match. */
export interface Reason {
  readonly tests: RegExp;
  readonly why: string;
}

export interface ComparedTest {
  readonly name: string;
  /** Of how many runs by each way in it passed. */
  readonly passed: Readonly<Partial<Record<WayIn, { readonly passed: number; readonly runs: number }>>>;
  readonly why: string | undefined;
}

/** Tests that pass straight on one server in some run and do not pass in every run by every way in. */
export function compareRuns(
  runs: readonly RunToCompare[],
  reasons: readonly Reason[],
): readonly ComparedTest[] {
  const names = new Set(
    runs
      .filter(({ way }) => way === 'server')
      .flatMap(({ results }) => Object.keys(results).filter((name) => results[name]?.outcome === 'passed')),
  );
  return [...names].sort().flatMap((name) => {
    const passed = Object.fromEntries(
      waysIn.flatMap((way) => {
        const of = runs.filter((run) => run.way === way);
        const good = of.filter(({ results }) => results[name]?.outcome === 'passed').length;
        return of.length === 0 ? [] : [[way, { passed: good, runs: of.length }]];
      }),
    );
    const isEverywhere = Object.values(passed).every((each) => each.passed === each.runs);
    return isEverywhere ? [] : [{ name, passed, why: reasons.find(({ tests }) => tests.test(name))?.why }];
  });
}

/** How many tests passed, a line for each way in and a column for each run, and the tests that do not pass everywhere. */
export function comparisonTables(
  runs: readonly RunToCompare[],
  reasons: readonly Reason[],
): { readonly counts: string; readonly tests: string } {
  const ways = waysIn.filter((way) => runs.some((run) => run.way === way));
  const turns = [...new Set(runs.map(({ run }) => run))].sort();
  const count = (way: WayIn, turn: number): string => {
    const found = runs.find((run) => run.way === way && run.run === turn);
    if (found === undefined) return '';
    const outcomes = Object.values(found.results);
    return `${outcomes.filter(({ outcome }) => outcome === 'passed').length} of ${outcomes.length}`;
  };
  const counts = [
    row(['', ...turns.map((turn) => `run ${turn}`)]),
    row(['---', ...turns.map(() => '---:')]),
    ...ways.map((way) => row([`\`${way}\``, ...turns.map((turn) => count(way, turn))])),
  ];
  const tests = [
    row(['test', ...ways.map((way) => `\`${way}\``), 'why']),
    row(['---', ...ways.map(() => ':---:'), '---']),
    ...compareRuns(runs, reasons).map(({ name, passed, why = '' }) =>
      row([
        name.replaceAll('|', '\\|'),
        ...ways.map((way) => {
          const { passed: good = 0, runs: of = 0 } = passed[way] ?? {};
          return good === of ? 'yes' : good === 0 ? '**no**' : `${good} of ${of}`;
        }),
        why,
      ]),
    ),
  ];
  return { counts: counts.join('\n'), tests: tests.join('\n') };
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
