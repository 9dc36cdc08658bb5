import type { ClusterView } from '../../dashboard/cluster-view.ts';
import type { MatrixCell, MatrixGroup } from '../../dashboard/served-matrix.ts';
import type { ServerColumn } from '../../dashboard/server-columns.ts';
import { durationText } from '../../runtime/duration-text.ts';
import { type Line, renderLines, type Segment, type Style } from '../terminal/styled-text.ts';
import type { StatusView } from './status-view.ts';
import { textTable } from './text-table.ts';

/** What `status` prints. */
export interface StatusReport {
  readonly status: StatusView;
  /** `undefined` while there is no snapshot. */
  readonly cluster: ClusterView | undefined;
}

export interface StatusTextOptions {
  /** Every resource that differs, in place of a count for each group. */
  readonly isWide: boolean;
  readonly isColored: boolean;
}

/**
 * The report as text: the router, its servers, which groups they serve differently, and what somebody should see
 * to. Fits 80 columns unless IDs are longer than that. Pure.
 * @param now milliseconds since the epoch
 */
export function statusText(
  { status, cluster }: StatusReport,
  now: number,
  { isWide, isColored }: StatusTextOptions,
): string {
  const preferred = preferredVersionLine(status);
  const sections: readonly (readonly Line[])[] = [
    textTable([
      ['Router:', routerLine(status)],
      ['Snapshot:', snapshotLine(status, now)],
      ...(status.embeddedSync === null ? [] : [['Read by:', readByLine(status.embeddedSync, now)]]),
      ...(cluster === undefined ? [] : [['Servers:', upgradeLine(cluster)]]),
      ...(preferred === undefined ? [] : [['Version:', preferred]]),
    ]),
    status.servers.length === 0 ? [] : serverTable(status, cluster?.hostnames ?? new Map(), now),
    cluster === undefined ? [] : differences(cluster, isWide),
    list(
      'Conflicts in discovery',
      status.discovery.conflicts.map(conflictLine),
      status.discovery.conflictCount,
    ),
    list(
      'Documents',
      status.documents.map(({ server, path, problem }) => `${server} ${path}: ${problem}`),
    ),
    list('Warnings', status.warnings),
    isWide ? foundSettings(status) : [],
  ];
  const lines = sections
    .filter((section) => section.length > 0)
    .flatMap((section, index) => (index === 0 ? section : [[], ...section]));
  return renderLines(lines, isColored);
}

function routerLine({ form, serverId, enabled, stalePolicy }: StatusView): string {
  const whose = serverId === null ? form : `${form} of ${serverId}`;
  return enabled
    ? `${whose}, stale policy ${stalePolicy}`
    : `${whose}, feature gate off: everything is local`;
}

/** Empty while it makes no difference. */
function preferredVersionLine({ preferredVersion }: StatusView): string | undefined {
  if (preferredVersion === undefined || preferredVersion.minor === null) return undefined;
  const { configured, minor, enforcementDiffers } = preferredVersion;
  const how = configured === minor ? '' : ` (${configured})`;
  const writes = enforcementDiffers ? ', and every write' : '';
  return `${minor}${how} answers for what servers understand differently${writes}`;
}

function snapshotLine({ snapshot, embeddedSync }: StatusView, now: number): Segment {
  if (snapshot === null) {
    const text =
      embeddedSync === null
        ? 'none yet: is the sync job running, and does it push to this router?'
        : `none yet: the router reads the cluster itself (${embeddedSync.source})`;
    return { text, style: 'warning' };
  }
  const { generation, createdAt, expiresAt, expired, source } = snapshot;
  const age = durationText(now - Date.parse(createdAt));
  const expiry = Date.parse(expiresAt);
  const life = expired
    ? `expired ${durationText(now - expiry)} ago`
    : `expires in ${durationText(expiry - now)}`;
  const text = `generation ${generation}, ${age} old, ${life}, from ${source}`;
  return expired ? { text, style: 'bad' } : text;
}

/** What nobody has given: long, and of interest when something is not as it should be. */
function foundSettings({ found }: StatusView): readonly Line[] {
  if (found.length === 0) return [];
  const lines = found.map(({ flag, value, source }) => [`  ${flag}=${value}: ${source}`]);
  return [[{ text: 'Found, not given:', style: 'heading' }], ...lines];
}

/** Whose the snapshot is, where it is the router's own. */
function readByLine({ source, lastReadAt }: NonNullable<StatusView['embeddedSync']>, now: number): string {
  const last = lastReadAt === null ? 'not yet' : `${durationText(now - Date.parse(lastReadAt))} ago`;
  return `this router, by ${source}, last ${last}`;
}

function upgradeLine({ upgrade: { shares, servers, state } }: ClusterView): string {
  const counts = shares.map(({ version, servers: count }) => `${count} ${version ?? 'of unknown version'}`);
  const name = { uniform: 'all alike', differing: 'they serve different things', mixed: 'mixed versions' }[
    state
  ];
  return `${servers}, ${name}: ${counts.join(', ')}`;
}

/** Who names a server's address, in a word. */
const sourceText: Readonly<Record<string, string>> = {
  lease: 'Lease',
  endpointslice: 'EndpointSlice',
  advertised: 'its router',
  listed: 'by hand',
};

const healthStyles: Readonly<Partial<Record<string, Style>>> = { healthy: 'good', unhealthy: 'bad' };

function serverTable(
  { servers }: StatusView,
  hostnames: ClusterView['hostnames'],
  now: number,
): readonly Line[] {
  // The IDs of kube-apiserver are hashes of the names by which people know the machines.
  const hostCells = <Cell>(cells: readonly Cell[]): readonly Cell[] => (hostnames.size === 0 ? [] : cells);
  const rows = servers.map(({ id, local, address, addressSource, version, stale, departedAt, health }) => {
    const since = health.since === null ? '' : ` ${durationText(now - Date.parse(health.since))}`;
    const cause = health.cause === null ? '' : ` (${health.cause})`;
    const departed = departedAt === null ? '' : `departed ${durationText(now - Date.parse(departedAt))} ago`;
    const marks = [local ? 'local' : '', departed === '' && stale ? 'stale' : departed]
      .filter((mark) => mark !== '')
      .join(',');
    return [
      id,
      ...hostCells([hostnames.get(id) ?? '-']),
      version ?? '-',
      styled(`${health.status}${cause}${since}`, healthStyles[health.status]),
      address ?? '-',
      address === null ? '' : (sourceText[addressSource ?? ''] ?? addressSource ?? ''),
      styled(marks, stale ? 'warning' : undefined),
    ];
  });
  const heads = headings('SERVER', ...hostCells(['HOST']), 'VERSION', 'HEALTH', 'ADDRESS', 'FROM', '');
  return textTable([heads, ...rows]);
}

function styled(text: string, style: Style | undefined): Segment {
  return style === undefined ? text : { text, style };
}

function headings(...texts: readonly string[]): readonly Segment[] {
  return texts.map((text) => ({ text, style: 'heading' }));
}

function differences({ columns, matrix }: ClusterView, isWide: boolean): readonly Line[] {
  if (matrix.differingRows === 0) return [[`All servers serve the same ${matrix.resources} resources.`]];
  const heads = columns.map(columnHead);
  return isWide
    ? textTable([headings('RESOURCE', ...heads), ...matrix.differing.flatMap(resourceRows)])
    : textTable([headings('GROUP', ...heads), ...matrix.differing.map(groupRow)]);
}

function columnHead({ version, servers }: ServerColumn): string {
  const [first] = servers;
  return version ?? first?.id ?? '-';
}

/** How many of the group's resources that are not everywhere each column serves. */
function groupRow({ group, rows }: MatrixGroup): readonly string[] {
  const counts = (rows[0]?.cells ?? []).map(
    (_, column) => `${rows.filter(({ cells }) => cells[column] === 'served').length} of ${rows.length}`,
  );
  return [group === '' ? 'core' : group, ...counts];
}

const cellText: Readonly<Record<MatrixCell, string>> = { served: 'yes', missing: '-', unknown: '?' };

function resourceRows({ group, rows }: MatrixGroup): readonly (readonly string[])[] {
  return rows.map(({ version, resource, subresource, cells }) => {
    const name = subresource === '' ? resource : `${resource}/${subresource}`;
    return [`${group === '' ? '' : `${group}/`}${version} ${name}`, ...cells.map((cell) => cellText[cell])];
  });
}

function conflictLine({ group, version, resource, subresource, field, claims }: Conflict): string {
  const name = `${group === '' ? '' : `${group}/`}${version} ${resource}${subresource === '' ? '' : `/${subresource}`}`;
  const said = claims.map(({ value, serverIds }) => `"${value}" say ${serverIds.join(', ')}`);
  return `${name}: ${field} ${said.join('; ')}`;
}

type Conflict = StatusView['discovery']['conflicts'][number];

function list(heading: string, lines: readonly string[], count: number = lines.length): readonly Line[] {
  if (lines.length === 0) return [];
  const more = count > lines.length ? [[`  and ${count - lines.length} more`]] : [];
  return [[{ text: `${heading}:`, style: 'warning' }], ...lines.map((line) => [`  ${line}`]), ...more];
}
