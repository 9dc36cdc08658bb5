import type { Line, Segment } from '../../src/cli/terminal/styled-text.ts';
import type { Counts } from './counts.ts';

/** One moment of the upgrade, as it is shown. */
export interface UpgradeMoment {
  readonly from: string;
  readonly to: string;
  /** Milliseconds since the load began. */
  readonly elapsed: number;
  readonly servers: readonly ShownServer[];
  readonly throughRouters: Counts;
  readonly straight: Counts;
  /** What has happened, oldest first. */
  readonly events: readonly UpgradeEvent[];
  /** What will happen next, and when. */
  readonly next: string;
}

export interface ShownServer {
  readonly name: string;
  readonly version: string;
  readonly isRunning: boolean;
  readonly router: string;
}

export interface UpgradeEvent {
  /** Milliseconds since the load began. */
  readonly at: number;
  readonly text: string;
}

/** A terminal of 24 lines has room for as many. */
const shownEvents = 7;
const labelWidth = 24;
const columnWidth = 20;

/** The whole screen, for a terminal of 80 columns and 24 lines. Pure. */
export function upgradeScreen(moment: UpgradeMoment): Line[] {
  const { from, to, elapsed, servers, events, next } = moment;
  return [
    [
      { text: `An upgrade from ${from} to ${to}, server by server`, style: 'heading' },
      `  ${clockText(elapsed)}`,
    ],
    [],
    ...servers.map(serverLine),
    [],
    ...countLines(moment),
    [],
    ...events.slice(-shownEvents).map((event) => [`  ${eventText(event)}`]),
    [],
    ['  1 2 3 stop or start a server    u upgrade the next    q leave'],
    [`  ${next}`],
  ];
}

function serverLine({ name, version, isRunning, router }: ShownServer, index: number): Line {
  const state: Segment = isRunning
    ? { text: 'up     ', style: 'good' }
    : { text: 'stopped', style: 'warning' };
  return [`  ${index + 1}  ${name}  ${version}  `, state, `  router ${router}`];
}

/** The table of what was counted. Pure. */
export function countLines({
  throughRouters,
  straight,
}: Pick<UpgradeMoment, 'throughRouters' | 'straight'>): Line[] {
  const row = (label: string, cell: (counts: Counts) => Segment): Line => [
    `  ${label.padEnd(labelWidth)}`,
    cell(throughRouters),
    cell(straight),
  ];
  const fault = (count: number, text = number(count)): Segment => {
    const padded = text.padStart(columnWidth);
    return count === 0 ? padded : { text: padded, style: 'bad' };
  };
  return [
    [' '.repeat(labelWidth + 2), 'through routers'.padStart(columnWidth), 'without'.padStart(columnWidth)],
    row('requests', ({ requests }) => number(requests).padStart(columnWidth)),
    row('wrong 404s', ({ wrongNotFound }) => fault(wrongNotFound)),
    row('fields lost', ({ fieldsLost, fieldsStored }) =>
      fault(fieldsLost, `${number(fieldsLost)} of ${number(fieldsStored)}`),
    ),
    row('refused', ({ refused }) => fault(refused)),
    row('only stopped servers', ({ withoutServer }) => number(withoutServer).padStart(columnWidth)),
  ];
}

/** Pure. */
export function eventText({ at, text }: UpgradeEvent): string {
  return `${clockText(at)}  ${text}`;
}

function clockText(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

function number(count: number): string {
  return count.toLocaleString('en');
}
