import type { CaseGroup, ConformanceCase } from './conformance-case.ts';
import type { Outcome } from './run-cases.ts';
import type { ConformanceRuntime } from './runtime.ts';

/** Parts that the page is made of. */
export interface PageContent {
  readonly groups: readonly CaseGroup[];
  readonly runtimes: readonly ConformanceRuntime[];
  /** Outcome of one case on one runtime. */
  outcome(runtime: ConformanceRuntime, each: ConformanceCase): Outcome;
}

/** Milliseconds by name and by runtime ID. */
export type Figures = ReadonlyMap<string, ReadonlyMap<string, number>>;

const marks = {
  cases: ['<!-- cases: written by npm run lab -- conformance --write -->', '<!-- end of cases -->'],
  figures: ['<!-- figures: written by npm run lab -- conformance --write -->', '<!-- end of figures -->'],
} as const;

/**
 * How many cases hold everywhere, and the others as a table, group by group, with what their runtimes say for it as
 * footnotes.
 */
export function casesSection({ groups, runtimes, outcome }: PageContent): string {
  const footnotes: string[] = [];
  const cell = (found: Outcome): string => {
    if (found.kind === 'holds') return '✓';
    if (found.kind === 'fails') return '**fails**';
    let number = footnotes.indexOf(found.because) + 1;
    if (number === 0) number = footnotes.push(found.because);
    return `${found.kind === 'not possible' ? '✗' : '–'} [${number}](#reasons)`;
  };
  const rows = groups.flatMap(({ title, cases }) => {
    const different = cases
      .map((each) => ({ each, outcomes: runtimes.map((runtime) => outcome(runtime, each)) }))
      .filter(({ outcomes }) => outcomes.some(({ kind }) => kind !== 'holds'))
      .map(({ each, outcomes }) => [each.rule, ...outcomes.map(cell)]);
    return different.length === 0 ? [] : [[`**${title}**`, ...runtimes.map(() => '')], ...different];
  });
  const head = ['Rule', ...runtimes.map((runtime) => runtime.title)];
  const different = rows.filter(([rule]) => rule?.startsWith('**') === false).length;
  const all = groups.flatMap(({ cases }) => cases).length;
  const summary = `${all - different} of ${all} rules hold on every runtime. The others:`;
  const list = footnotes.map((because, index) => `${index + 1}. ${because}`).join('\n');
  const columns = runtimes.map(({ title, description }) => `- **${title}**: ${description}`).join('\n');
  return [columns, summary, table(head, rows), `### Reasons\n\n${list}`].join('\n\n');
}

/** The table of what was measured. */
export function figuresSection(runtimes: readonly ConformanceRuntime[], figures: Figures): string {
  const head = ['Milliseconds', ...runtimes.map(({ title }) => title)];
  const rows = [...figures].map(([name, byRuntime]) => [
    name,
    ...runtimes.map(({ id }) => byRuntime.get(id)?.toFixed(2) ?? '–'),
  ]);
  return table(head, rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = head.map((_, index) => (index === 0 ? '---' : ':---:'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

/** The page between the marks of a section. @throws when the page lacks them. */
export function sectionOf(page: string, section: keyof typeof marks): string {
  const { start, end } = bounds(page, section);
  return page.slice(start, end).trim();
}

/** The page with another text between the marks of a section. @throws when the page lacks them. */
export function withSection(page: string, section: keyof typeof marks, text: string): string {
  const { start, end } = bounds(page, section);
  return `${page.slice(0, start)}\n\n${text}\n\n${page.slice(end)}`;
}

function bounds(page: string, section: keyof typeof marks): { readonly start: number; readonly end: number } {
  const [begin, finish] = marks[section];
  const start = page.indexOf(begin);
  const end = page.indexOf(finish);
  if (start === -1 || end < start) throw new Error(`the page has no section between ${begin} and ${finish}`);
  return { start: start + begin.length, end };
}
