import { clusterView } from '../../dashboard/cluster-view.ts';
import { compareNames, withDisplayNames } from '../../dashboard/wording/display-names.ts';
import { durationText } from '../../runtime/duration-text.ts';
import { countOf } from '../terminal/count-of.ts';
import { renderLines, type Segment } from '../terminal/styled-text.ts';
import { type AskedRouter, type Difference, saysReady } from './routers-agreement.ts';
import { healthyCount } from './status-text.ts';
import type { StatusView } from './status-view.ts';
import { headings, labelledTexts, list, narrow, separated, textTable } from './text-table.ts';

/**
 * Several routers as text: a row each, whether they agree, and what needs attention. Fits 80 columns. Pure.
 * @param notAsked servers whose routers should have been asked too
 * @param now milliseconds since the epoch
 */
export function routersText(
  routers: readonly AskedRouter[],
  differences: readonly Difference[],
  notAsked: readonly string[],
  now: number,
  isColored: boolean,
): string {
  const sorted = [...routers].sort((left, right) => compareNames(left.server, right.server));
  const ready = routers.filter(isReady).length;
  const rows = sorted.map((router) => [
    hostOf(router.server),
    readyCell(router),
    ...statusCells(router, now),
  ]);
  const sections = [
    textTable([headings('ROUTER', 'READY', 'SNAPSHOT', 'AGE', 'HEALTHY', 'PREFERRED'), ...rows], narrow),
    labelledTexts(
      [
        [
          'Ready:',
          { text: `${ready} of ${routers.length}`, style: ready === routers.length ? 'good' : 'bad' },
        ],
        ['Not asked:', notAskedText(notAsked)],
        ['Agree:', agreement(routers, differences, notAsked)],
      ],
      narrow,
    ),
    list('Differences', differences.map(differenceText), narrow),
    list('Not ready', sorted.filter(({ status }) => status !== undefined).flatMap(reasonNotReady), narrow),
    list('Not known', sorted.filter(({ status }) => status === undefined).flatMap(reasonNotReady), narrow),
    list('Warnings', warningTexts(sorted), narrow),
  ];
  return renderLines(separated(sections), isColored);
}

function isReady({ status }: AskedRouter): boolean {
  return status !== undefined && saysReady(status);
}

function readyCell(router: AskedRouter): Segment {
  if (isReady(router)) return { text: 'yes', style: 'good' };
  return { text: router.status === undefined ? 'no status' : 'no', style: 'bad' };
}

function statusCells({ status }: AskedRouter, now: number): readonly Segment[] {
  if (status === undefined) return [];
  return [...snapshotCells(status, now), healthyCount(status), status.preferredVersion?.minor ?? '-'];
}

/** Its number, with whose it is, and its age. */
function snapshotCells({ snapshot, embeddedSync }: StatusView, now: number): readonly Segment[] {
  if (snapshot === null) return [{ text: 'none', style: 'warning' }, ''];
  const { generation, createdAt, expired } = snapshot;
  const age = durationText(now - Date.parse(createdAt));
  return [
    `${generation} ${embeddedSync === null ? 'pushed' : 'own'}`,
    expired ? { text: `${age}, expired`, style: 'bad' } : age,
  ];
}

function notAskedText({ length }: readonly string[]): Segment | undefined {
  if (length === 0) return undefined;
  const servers = countOf(length, 'further server');
  return { text: `${servers}: no router address known; name them with --server`, style: 'warning' };
}

function agreement(
  routers: readonly AskedRouter[],
  differences: readonly Difference[],
  notAsked: readonly string[],
): Segment {
  if (differences.length > 0) return { text: 'no: see the differences below', style: 'bad' };
  if (notAsked.length > 0) return { text: 'not known: not all routers were asked', style: 'warning' };
  const compared = routers.filter(({ table }) => table !== undefined).length;
  if (compared === routers.length) return { text: 'yes', style: 'good' };
  if (compared < 2) return { text: 'not known: fewer than two have a snapshot', style: 'warning' };
  return { text: `the ${compared} that have a snapshot do`, style: 'warning' };
}

function differenceText({ subject, values }: Difference): string {
  return `${subject}: ${values.map(({ value, routers }) => `${value} (${routers.map(hostOf).join(', ')})`).join('; ')}`;
}

function reasonNotReady(router: AskedRouter): readonly string[] {
  if (isReady(router)) return [];
  const { server, error, status } = router;
  // The error of a router that does not tell names it.
  const failures = (status?.readiness?.failures ?? []).map(({ name, reason }) => `${name}: ${reason}`);
  return [error ?? `${hostOf(server)}: ${failures.join('; ')}`];
}

/** Each once, with the routers that give it. */
function warningTexts(routers: readonly AskedRouter[]): readonly string[] {
  const told = routers.flatMap(({ server, status, table }) => {
    const hostnames = table === undefined ? new Map<string, string>() : clusterView(table).hostnames;
    return (status?.warnings ?? []).map((warning) => ({
      server,
      text: withDisplayNames(warning, hostnames),
    }));
  });
  return [...Map.groupBy(told, ({ text }) => text)].map(([text, group]) => {
    const isOfAll = group.length === routers.length && routers.length > 1;
    return `${isOfAll ? 'all routers' : group.map(({ server }) => hostOf(server)).join(', ')}: ${text}`;
  });
}

function hostOf(server: string): string {
  return server.replace('https://', '');
}
