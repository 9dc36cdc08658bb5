import type { Line, Segment } from '../../src/cli/terminal/styled-text.ts';
import type { Counts } from './counts.ts';

/** By the way that clients take. */
export interface CountsOfWays {
  readonly throughRouters: Counts;
  /** A load balancer that leads everybody to servers of one version, and is switched once. */
  readonly oneVersion: Counts;
  readonly anyServer: Counts;
}

/** One moment of the upgrade, as it is shown. */
export interface UpgradeMoment extends CountsOfWays {
  readonly from: string;
  readonly to: string;
  /** Milliseconds since the load began. */
  readonly elapsed: number;
  readonly servers: readonly ShownServer[];
  /** Events so far, oldest first. */
  readonly events: readonly UpgradeEvent[];
  /** True: the meaning of the rows is shown in place of `events`. */
  readonly isExplained: boolean;
  /** The next event, and its time. */
  readonly next: string;
  /** Path of the kubeconfig whose contexts are named as the servers are. */
  readonly kubeconfig: string;
  /** Lines of the terminal. */
  readonly height: number;
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

const labelWidth = 19;
const columnWidth = 13;

/** The whole screen: 60 columns, but for a long path at its end. A low terminal has fewer events. Pure. */
export function upgradeScreen(moment: UpgradeMoment): Line[] {
  const { from, to, elapsed, servers, events, isExplained, next, kubeconfig, height } = moment;
  const above: Line[] = [
    [
      { text: `An upgrade from ${from} to ${to}, server by server`, style: 'heading' },
      `  ${clockText(elapsed)}`,
    ],
    ...servers.map(serverLine),
    [],
    ...countLines(moment),
    [],
  ];
  const below: Line[] = [
    ['  1 2 3 stop or start   u upgrade the next   ? rows   q leave'],
    [`  ${next}`],
    [`  KUBECONFIG=${kubeconfig} kubectl get ns`],
  ];
  // The last line of a terminal stays free: the cursor is there.
  const room = height - 1;
  const shownEvents = Math.max(0, room - above.length - below.length - 1);
  const latest: Line[] = isExplained
    ? countsExplained
        .trim()
        .split('\n')
        .slice(0, shownEvents)
        .map((line, index) => [index === 0 ? `  ${line}` : line])
    : events.slice(Math.max(0, events.length - shownEvents)).map((event) => [`  ${eventText(event)}`]);
  return [...above, ...latest, ...(latest.length > 0 ? [[]] : []), ...below].slice(0, room);
}

function serverLine({ name, version, isRunning, router }: ShownServer, index: number): Line {
  const state: Segment = isRunning
    ? { text: 'up     ', style: 'good' }
    : { text: 'stopped', style: 'warning' };
  return [`  ${index + 1}  ${name}  ${version}  `, state, `  router ${router}`];
}

/** The table of what was counted. Pure. */
export function countLines({ throughRouters, oneVersion, anyServer }: CountsOfWays): Line[] {
  const row = (label: string, cell: (counts: Counts) => Segment): Line => [
    `  ${label.padEnd(labelWidth)}`,
    cell(throughRouters),
    cell(oneVersion),
    cell(anyServer),
  ];
  const fault = (count: number, text = number(count)): Segment => {
    const padded = text.padStart(columnWidth);
    return count === 0 ? padded : { text: padded, style: 'bad' };
  };
  return [
    [
      ' '.repeat(labelWidth + 2),
      ...['routers', 'one version', 'any server'].map((name) => name.padStart(columnWidth)),
    ],
    row('requests', ({ requests }) => number(requests).padStart(columnWidth)),
    row('wrong 404s', ({ wrongNotFound }) => fault(wrongNotFound)),
    row('fields lost', ({ fieldsLost, fieldsStored }) =>
      fault(fieldsLost, `${number(fieldsLost)} of ${number(fieldsStored)}`),
    ),
    row('refused or failed', ({ refused }) => fault(refused)),
    row('no server up for it', ({ withoutServer }) => number(withoutServer).padStart(columnWidth)),
  ];
}

/** Lines of 60 columns at most: what the rows mean, for who reads nothing but the result. */
export const countsExplained = `
  wrong 404            a server that runs has the object
  field lost           stored, dropped by an older server
  refused or failed    429, 5xx or no response, though a
                       server could respond
  no server up for it  no server has it: 503 from a router
                       (try again), 404 from an API server
  one version          a balancer to servers of one version,
                       switched once in the middle
  any server           a balancer to all of them
`;

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
