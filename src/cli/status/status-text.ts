import { unserved } from '../../dashboard/unserved.ts';
import { headline, upgradeOf } from '../../dashboard/upgrade.ts';
import {
  count,
  displayName,
  type Hostnames,
  hostnamesOf,
  peculiarityOf,
  shortVersion,
  withDisplayNames,
} from '../../dashboard/wording/display-names.ts';
import { preferenceText } from '../../dashboard/wording/preferred-version-text.ts';
import { countDiffering, countHealthy } from '../../own-paths/status/router-status.ts';
import type {
  DifferingGroup,
  DifferingRow,
  RouterStatus,
  ServedComparison,
} from '../../own-paths/status/status-schema.ts';
import { firstExpiry } from '../../own-paths/status/status-sources.ts';
import { ownPathsPrefix } from '../../request/own-path-target.ts';
import { compareNames } from '../../runtime/compare-names.ts';
import { durationText } from '../../runtime/duration-text.ts';
import { isDownState } from '../../servers/server-states.ts';
import { type Line, renderLines, type Segment, type Style } from '../terminal/styled-text.ts';
import { headings, labelledTexts, list, narrow, separated, textTable } from './text-table.ts';

const namedResources = 5;
/** Rows of what differs: the page and `-o json` have all. */
const shownRows = 60;

/**
 * The report as text: the router, whether it is ready, its servers, what they serve differently, and what needs
 * attention. Pure.
 * @param now milliseconds since the epoch
 * @param origin of the router, which has the guides that warnings lead to
 */
export function statusText(status: RouterStatus, now: number, isColored: boolean, origin: string): string {
  const hostnames = hostnamesOf(status);
  const sections: readonly (readonly Line[])[] = [
    labelledTexts(
      [
        ['Router:', routerLine(status, hostnames)],
        ['Ready:', readiness(status)],
        ['Snapshot:', snapshotLine(status, now)],
        ['Read by:', readByLine(status, now)],
        ['Servers:', status.servers.length === 0 ? undefined : headline(upgradeOf(status))],
        ['Healthy:', status.servers.length === 0 ? undefined : healthyCount(status)],
        ['Version:', preferenceText(status)],
        ['Down:', unservedLine(status)],
        ['Expires:', expiryLine(status, now)],
      ],
      narrow,
    ),
    status.servers.length === 0 ? [] : textTable(serverRows(status, hostnames, now)),
    status.served === null ? [] : differences(status.served),
    list(
      'Warnings',
      furtherWarnings(status).map(
        (warning) => `${withDisplayNames(warning.message, hostnames)}${whereToRead(warning, origin)}`,
      ),
      narrow,
    ),
  ];
  return renderLines(separated(sections), isColored);
}

/** Where a warning's guide is, behind its message. */
export function whereToRead({ see }: RouterStatus['warnings'][number], origin: string): string {
  return see === null ? '' : ` See ${origin}${ownPathsPrefix}/${see}`;
}

function readiness({ readiness }: RouterStatus): Segment {
  if (readiness.ready) return { text: 'yes', style: 'good' };
  const reasons = readiness.failures.map(({ name, reason }) => `${name}: ${reason}`).join('; ');
  return { text: `no: ${reasons}`, style: 'bad' };
}

/** Without the one that says why the router is not ready: it stands there. */
function furtherWarnings({
  readiness,
  warnings,
}: Pick<RouterStatus, 'readiness' | 'warnings'>): RouterStatus['warnings'] {
  const reasons = readiness.failures.map(({ reason }) => reason);
  return warnings.filter(({ message }) => !reasons.some((reason) => reason.endsWith(message)));
}

/** The router is ready, each API server that has not left is healthy, and each resource has a healthy server. */
export function isHealthy(status: RouterStatus): boolean {
  const { everything, resources } = unserved(status);
  const present = status.servers.filter(({ departedAt }) => departedAt === null);
  return (
    status.readiness.ready &&
    countHealthy(present) === present.length &&
    !everything &&
    resources.length === 0
  );
}

export function unservedLine(status: RouterStatus): Segment | undefined {
  const { everything, resources } = unserved(status);
  if (everything) return { text: 'every API server: requests get 503', style: 'bad' };
  if (resources.length === 0) return undefined;
  const names = resources
    .slice(0, namedResources)
    .map(({ group, version, resource, subresource }) => resourceName(group, version, resource, subresource));
  const more = resources.length > names.length ? `, and ${resources.length - names.length} more` : '';
  return { text: `no healthy server serves ${names.join(', ')}${more}: 503`, style: 'bad' };
}

function expiryLine({ certificates }: RouterStatus, now: number): Segment | undefined {
  const first = firstExpiry(certificates, now);
  return first?.isNear === true ? { text: first.text, style: 'warning' } : first?.text;
}

function routerLine({ form, serverId, enabled }: RouterStatus, hostnames: Hostnames): string {
  const whose = serverId === null ? form : `${form} of ${displayName(serverId, hostnames)}`;
  return enabled ? whose : `${whose}, feature gate off: everything is local`;
}

export function whoseSnapshot({ embeddedSync }: Pick<RouterStatus, 'embeddedSync'>): string {
  return embeddedSync === null ? 'pushed' : 'own';
}

function snapshotLine({ enabled, snapshot, embeddedSync }: RouterStatus, now: number): Segment {
  if (snapshot === null) {
    if (!enabled) return 'not needed: the feature gate is off';
    const text =
      embeddedSync === null
        ? 'none yet: is the sync job running, and does it push to this router?'
        : `none yet: the router reads the cluster itself (${embeddedSync.source})`;
    return { text, style: 'warning' };
  }
  const { generation, createdAt, old } = snapshot;
  const age = durationText(now - Date.parse(createdAt));
  const text = `generation ${generation}, ${whoseSnapshot({ embeddedSync })}, ${age} old`;
  return old ? { text, style: 'warning' } : text;
}

function readByLine({ embeddedSync }: RouterStatus, now: number): string | undefined {
  if (embeddedSync === null) return undefined;
  const { source, lastReadAt } = embeddedSync;
  if (lastReadAt === null) return `this router, by ${source}: no server has been read yet`;
  return `this router, by ${source}, last ${durationText(now - Date.parse(lastReadAt))} ago`;
}

export function healthyCount({ servers }: RouterStatus): Segment {
  const healthy = countHealthy(servers);
  return { text: `${healthy} of ${servers.length}`, style: healthy < servers.length ? 'bad' : 'good' };
}

function styleOf(status: string): Style | undefined {
  if (isDownState(status)) return 'bad';
  return status === 'ready' || status === 'suspect' ? 'good' : undefined;
}

function serverRows(
  { servers }: RouterStatus,
  hostnames: Hostnames,
  now: number,
): readonly (readonly Segment[])[] {
  const nameOf = (id: string): string => displayName(id, hostnames);
  const sorted = [...servers].sort((left, right) => compareNames(nameOf(left.id), nameOf(right.id)));
  const rows = sorted.map((server) => {
    const { id, local, address, version, stale, departedAt, health } = server;
    const since = health.since === null ? '' : ` ${durationText(now - Date.parse(health.since))}`;
    const departed = departedAt === null ? '' : `departed ${durationText(now - Date.parse(departedAt))} ago`;
    const marks = [
      local ? 'local' : '',
      peculiarityOf(server),
      address === null && departed === '' ? 'no address' : '',
      departed === '' && stale ? 'stale' : departed,
    ]
      .filter((mark) => mark !== '')
      .join(', ');
    return [
      nameOf(id),
      version === null ? '-' : shortVersion(version),
      styled(
        `${health.status}${since}${health.reason === null ? '' : `, ${health.reason}`}`,
        styleOf(health.status),
      ),
      styled(marks, stale ? 'warning' : undefined),
    ];
  });
  return [headings('SERVER', 'VERSION', 'HEALTH', ''), ...rows];
}

function styled(text: string, style: Style | undefined): Segment {
  return style === undefined ? text : { text, style };
}

function differences(served: ServedComparison): readonly Line[] {
  const { columns, resources, differing } = served;
  const number = countDiffering(served);
  if (number === 0) return [[`All servers serve the same ${count(resources, 'resource')}.`]];
  const rows = differing.flatMap(groupRows);
  const shown = rows.slice(0, shownRows);
  // A group without a row says nothing.
  if (shown.at(-1)?.length === 1) shown.pop();
  return [
    ...textTable([headings('RESOURCE', ...columns.map(columnHead)), ...shown]),
    ...(rows.length > shownRows
      ? [[`${number} resources in all: -o json, and the status page, have each`]]
      : []),
  ];
}

function columnHead({ version, servers }: ServedComparison['columns'][number]): string {
  return shortVersion(version ?? servers[0] ?? '-');
}

const cellText: Readonly<Record<DifferingRow['cells'][number], string>> = {
  served: 'yes',
  missing: '-',
  unknown: '?',
};

function groupRows({ group, rows }: DifferingGroup): readonly (readonly string[])[] {
  const resources = rows.map(({ version, resource, subresource, cells }) => [
    `  ${resourceName('', version, resource, subresource)}`,
    ...cells.map((cell) => cellText[cell]),
  ]);
  return [[group === '' ? 'core' : group], ...resources];
}

function resourceName(group: string, version: string, resource: string, subresource: string): string {
  return `${group === '' ? '' : `${group}/`}${version} ${resource}${subresource === '' ? '' : `/${subresource}`}`;
}
