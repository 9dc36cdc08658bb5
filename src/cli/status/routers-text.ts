import {
  count,
  type Hostnames,
  hostnamesOf,
  withDisplayNames,
} from '../../dashboard/wording/display-names.ts';
import type { RouterStatus } from '../../own-paths/status/status-schema.ts';
import { compareNames } from '../../runtime/compare-names.ts';
import { durationText } from '../../runtime/duration-text.ts';
import { renderLines, type Segment } from '../terminal/styled-text.ts';
import type { Difference, RouterOfServer, RoutersView } from './routers-view.ts';
import { healthyCount, unservedLine, whereToRead, whoseSnapshot } from './status-text.ts';
import { headings, labelledTexts, list, narrow, separated, textTable } from './text-table.ts';

/**
 * Several routers as text: a row each, whether they agree, and what needs attention. Pure.
 * @param now milliseconds since the epoch
 */
export function routersText(
  { agree, differences, notAsked, routers }: RoutersView,
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
    textTable([headings('ROUTER', 'READY', 'SNAPSHOT', 'AGE', 'HEALTHY', 'PREFERRED'), ...rows]),
    labelledTexts(
      [
        [
          'Ready:',
          { text: `${ready} of ${routers.length}`, style: ready === routers.length ? 'good' : 'bad' },
        ],
        ['Not asked:', notAskedText(notAsked)],
        ['Agree:', agreement(agree, routers, notAsked)],
        ...downLines(sorted),
      ],
      narrow,
    ),
    list(
      'Differences',
      differences.map((each) => withDisplayNames(differenceText(each), hostnamesOfAll(routers))),
      narrow,
    ),
    list('Not ready', sorted.filter(({ status }) => status !== null).flatMap(reasonNotReady), narrow),
    list('Not known', sorted.filter(({ status }) => status === null).flatMap(reasonNotReady), narrow),
    list('Warnings', warningTexts(sorted), narrow),
  ];
  return renderLines(separated(sections), isColored);
}

/** One line where all routers see the same; else one for each router. */
function downLines(routers: readonly RouterOfServer[]): readonly (readonly [string, Segment])[] {
  const seen = routers.flatMap(({ server, status }) => {
    const line = status === null ? undefined : unservedLine(status);
    return line === undefined ? [] : [{ server, text: typeof line === 'string' ? line : line.text }];
  });
  const byText = Map.groupBy(seen, ({ text }) => text);
  return [...byText].map(([text, group]) => {
    const isOfAll = group.length === routers.length;
    const whose = isOfAll ? '' : `${group.map(({ server }) => hostOf(server)).join(', ')}: `;
    return ['Down:', { text: `${whose}${text}`, style: 'bad' }];
  });
}

function isReady({ status }: RouterOfServer): boolean {
  return status?.readiness.ready === true;
}

function readyCell(router: RouterOfServer): Segment {
  if (isReady(router)) return { text: 'yes', style: 'good' };
  return { text: router.status === null ? 'no status' : 'no', style: 'bad' };
}

function statusCells({ status }: RouterOfServer, now: number): readonly Segment[] {
  if (status === null) return [];
  return [...snapshotCells(status, now), healthyCount(status), status.preferredVersion.minor ?? '-'];
}

function snapshotCells(status: RouterStatus, now: number): readonly Segment[] {
  const { snapshot } = status;
  if (snapshot === null) return [{ text: 'none', style: 'warning' }, ''];
  const { generation, createdAt, old } = snapshot;
  const age = durationText(now - Date.parse(createdAt));
  return [`${generation} ${whoseSnapshot(status)}`, old ? { text: age, style: 'warning' } : age];
}

function notAskedText({ length }: readonly string[]): Segment | undefined {
  if (length === 0) return undefined;
  const servers = count(length, 'further server');
  return { text: `${servers}: no router address known; name all with --server`, style: 'warning' };
}

function agreement(
  agree: boolean | null,
  routers: readonly RouterOfServer[],
  notAsked: readonly string[],
): Segment {
  if (agree === false) return { text: 'no: see the differences below', style: 'bad' };
  if (agree === true) return { text: 'yes', style: 'good' };
  if (notAsked.length > 0) return { text: 'not known: not all routers were asked', style: 'warning' };
  const compared = routers.filter(({ status }) => status !== null && status.snapshot !== null).length;
  if (compared < 2) return { text: 'not known: fewer than two have a snapshot', style: 'warning' };
  return { text: `the ${compared} that have a snapshot do`, style: 'warning' };
}

function hostnamesOfAll(routers: readonly RouterOfServer[]): Hostnames {
  return new Map(routers.flatMap(({ status }) => (status === null ? [] : [...hostnamesOf(status)])));
}

function differenceText({ subject, values }: Difference): string {
  return `${subject}: ${values.map(({ value, routers }) => `${value} (${routers.map(hostOf).join(', ')})`).join('; ')}`;
}

function reasonNotReady(router: RouterOfServer): readonly string[] {
  if (isReady(router)) return [];
  const { server, error, status } = router;
  // The error of a router that does not tell names it.
  const failures = (status?.readiness.failures ?? []).map(({ name, reason }) => `${name}: ${reason}`);
  return [error ?? `${hostOf(server)}: ${failures.join('; ')}`];
}

function warningTexts(routers: readonly RouterOfServer[]): readonly string[] {
  const hostnames = hostnamesOfAll(routers);
  const told = routers.flatMap(({ server, status }) => {
    return (status?.warnings ?? []).map((warning) => ({
      server,
      text: withDisplayNames(warning.message, hostnames),
      // Each router has the guide: that of the first is named.
      where: whereToRead(warning, server),
    }));
  });
  return [...Map.groupBy(told, ({ text }) => text)].map(([text, group]) => {
    const isOfAll = group.length === routers.length && routers.length > 1;
    const who = isOfAll ? 'all routers' : group.map(({ server }) => hostOf(server)).join(', ');
    return `${who}: ${text}${group[0]?.where ?? ''}`;
  });
}

function hostOf(server: string): string {
  return server.replace('https://', '');
}
