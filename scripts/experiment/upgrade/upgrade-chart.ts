import { setUpNames, setUpTitles } from '../cluster/set-ups.ts';
import type { FindingName } from '../record/findings.ts';
import { roundUp, type TimeColor, type TimeSpan, timeChart } from '../report/time-chart.ts';
import type { SetUpOutcome, UpgradeOutcomes } from './upgrade-results.ts';

/** What is drawn, from below: errors that a client gets to feel. */
const classes: readonly {
  readonly color: TimeColor;
  readonly label: string;
  readonly names: readonly FindingName[];
}[] = [
  { color: 'first', label: 'wrong 404s', names: ['wrongNotFound'] },
  {
    color: 'second',
    label: '5xx or no response',
    names: ['readServerErrors', 'writeServerErrors', 'failedReads', 'unknownWrites'],
  },
  { color: 'third', label: 'discovery errors', names: ['discoveryErrors'] },
  { color: 'fourth', label: 'refused: no server had the resource', names: ['refusedWithoutServer'] },
];

/** Errors in each second of the upgrade, a panel for each set-up; grey while a server is down. */
export function upgradeChart(setUps: UpgradeOutcomes): string {
  const run = setUpNames.flatMap((name) => {
    const outcome = setUps[name];
    return outcome === undefined
      ? []
      : [{ name, outcome, series: classes.map((one) => perSecond(outcome, one.names)) }];
  });
  // The same for all, so that heights can be compared.
  const top = roundUp(Math.max(2, ...run.map(({ series }) => highest(series))));
  return timeChart({
    description: 'Errors per second during a rolling upgrade, in four set-ups',
    seconds: Math.max(...run.map(({ outcome }) => outcome.seconds), 1),
    legend: classes,
    panels: run.map(({ name, outcome, series }) => ({
      title: setUpTitles[name],
      unit: 'errors a second',
      top,
      kind: 'bars',
      series: series.map((points, index) => ({ color: classes[index]?.color ?? 'first', points })),
      spans: downTimes(outcome),
    })),
  });
}

function perSecond(
  { timeline }: SetUpOutcome,
  names: readonly FindingName[],
): readonly { readonly at: number; readonly value: number }[] {
  const counts = new Map<number, number>();
  for (const { name, at } of timeline) {
    if (!names.includes(name)) continue;
    const second = Math.floor(at);
    counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  return [...counts].map(([at, value]) => ({ at, value }));
}

function highest(series: readonly (readonly { readonly at: number; readonly value: number }[])[]): number {
  const sums = new Map<number, number>();
  for (const { at, value } of series.flat()) sums.set(at, (sums.get(at) ?? 0) + value);
  return Math.max(0, ...sums.values());
}

/** From the step that stops a server to the one that says it is back. */
function downTimes({ steps }: SetUpOutcome): TimeSpan[] {
  return steps.flatMap(({ title, at }, index) => {
    const server = /^server (\d+) stops$/.exec(title)?.[1];
    const back = steps.slice(index + 1).find((step) => step.title.startsWith(`server ${server} is`));
    return server === undefined || back === undefined ? [] : [{ from: at, until: back.at, label: server }];
  });
}
