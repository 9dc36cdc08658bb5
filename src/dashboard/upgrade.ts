import { compareServerVersions, minorVersion } from '../apimachinery/server-version.ts';
import type { HistoryView } from '../own-paths/history/history-view.ts';
import { isUsable, type ListedServer } from '../own-paths/status/router-status.ts';
import type { RouterStatus } from '../own-paths/status/status-schema.ts';
import { compareNames } from '../runtime/compare-names.ts';
import { count, displayName, type Hostnames, shortVersion } from './wording/display-names.ts';

interface VersionShare {
  /** `undefined`: not known. */
  readonly version: string | undefined;
  readonly servers: number;
}

/**
 * - `uniform`: one version, and all servers serve the same.
 * - `differing`: one version, but what is served differs: feature gates or `--runtime-config`.
 * - `mixed`: several versions.
 * - `unknown`: one version at most is known, and that of some server is not.
 */
type UpgradeState = 'uniform' | 'differing' | 'mixed' | 'unknown';

/** Where a cluster is on its way from version to version. Servers that have left run no version. */
export interface Upgrade {
  readonly state: UpgradeState;
  /** The oldest first. */
  readonly shares: readonly VersionShare[];
  /** Servers that are there. */
  readonly servers: number;
  /** Servers that have left and may come back. */
  readonly departed: number;
  /** Servers that no request can be sent to. */
  readonly away: readonly ListedServer[];
  /** An upgrade, or the way back from one; `undefined` while servers are of one version, or no timeline was given. */
  readonly progress: UpgradeProgress | undefined;
}

interface UpgradeProgress {
  /** Minor versions where these differ, else whole ones. */
  readonly from: string;
  readonly to: string;
  /** Servers of the version that all are to have. */
  readonly done: number;
}

type Timeline = HistoryView['timeline'];

/**
 * The state of an upgrade, as far as versions and served sets tell. Pure.
 * @param timeline tells an upgrade from the way back; an empty one makes it an upgrade. Default: no progress
 */
export function upgradeOf(
  { served, servers: listed }: Pick<RouterStatus, 'served' | 'servers'>,
  timeline?: Timeline,
): Upgrade {
  const columns = served?.columns ?? [];
  const left = new Set(listed.flatMap(({ id, departedAt }) => (departedAt === null ? [] : [id])));
  const present = columns
    .map(({ version, servers }) => ({ version, servers: servers.filter((id) => !left.has(id)).length }))
    .filter(({ servers }) => servers > 0);
  const shares = [...Map.groupBy(present, ({ version }) => version ?? undefined)].map(([version, group]) => ({
    version,
    servers: group.reduce((sum, { servers }) => sum + servers, 0),
  }));
  const servers = shares.reduce((sum, share) => sum + share.servers, 0);
  const state = stateOf(shares, present.length);
  return {
    state,
    shares,
    servers,
    departed: columns.reduce((sum, column) => sum + column.servers.length, 0) - servers,
    away: listed.filter((server) => !isUsable(server)),
    progress: timeline === undefined || state !== 'mixed' ? undefined : progressOf(shares, timeline),
  };
}

/** A version that is not known is no other version: it may well be the same. */
function stateOf(shares: readonly VersionShare[], columns: number): UpgradeState {
  const known = shares.filter(({ version }) => version !== undefined).length;
  if (known > 1) return 'mixed';
  if (known < shares.length) return 'unknown';
  return columns > 1 ? 'differing' : 'uniform';
}

function progressOf(shares: readonly VersionShare[], timeline: Timeline): UpgradeProgress | undefined {
  const versions = shares.flatMap(({ version }) => version ?? []);
  const [oldest, newest] = [versions[0], versions.at(-1)];
  if (oldest === undefined || newest === undefined) return undefined;
  const last = timeline.find(({ event }) => event === 'VersionChanged');
  const goesBack = last !== undefined && compareServerVersions(last.to, last.from) < 0;
  const label = labelOf(oldest, newest);
  const [from, to] = goesBack ? [label(newest), label(oldest)] : [label(oldest), label(newest)];
  const ofGoal = shares.filter(({ version }) => version !== undefined && label(version) === to);
  return { from, to, done: ofGoal.reduce((sum, share) => sum + share.servers, 0) };
}

/** How versions are named: `1.36` unless only the patches differ. */
function labelOf(one: string, other: string): (version: string) => string {
  const differ = minorVersion(one) !== minorVersion(other);
  return (version) => (differ ? minorVersion(version) : undefined) ?? version;
}

/** Where the upgrade stands, or what is wrong, in a line. */
export function headline({ state, shares, servers, departed, away, progress }: Upgrade): string {
  const all = servers + departed;
  const unavailable = away.length > 0 ? `, ${away.length} not available` : '';
  if (progress !== undefined) {
    const { from, to, done } = progress;
    return `${shortVersion(from)} → ${shortVersion(to)}: ${done} of ${count(all, 'server')}${unavailable}`;
  }
  if (state === 'mixed') {
    const told = shares.map(
      (share) => `${share.servers} ${shortVersion(share.version ?? 'of unknown version')}`,
    );
    return `${told.join(', ')}${unavailable}`;
  }
  if (away.length > 0) {
    return `${away.length} of ${count(all, 'server')} ${away.length === 1 ? 'is' : 'are'} not available`;
  }
  const [version, unknown = 0] = [
    shares.find((share) => share.version !== undefined)?.version,
    shares.find((share) => share.version === undefined)?.servers,
  ];
  if (version === undefined) return `${count(unknown, 'server')}, of unknown version`;
  const known = shortVersion(version);
  if (state === 'unknown') return `${known}, and ${count(unknown, 'server')} of unknown version`;
  const those = all === 1 ? 'The server runs' : `All ${all} servers run`;
  return state === 'differing' ? `${those} ${known}, but they differ` : `${those} ${known}`;
}

/** Which server can be stopped next, to be upgraded. */
export type NextStop =
  /** Others are away: what they serve, and the quorum of etcd, may hang on it. */
  | { readonly kind: 'wait' }
  /** Others serve all that it serves. */
  | { readonly kind: 'safe'; readonly server: string }
  /** Only it serves some resources. */
  | { readonly kind: 'last'; readonly server: string; readonly resources: number };

/** `undefined` while no server waits for an upgrade. Pure. */
export function nextStop(
  { progress, away }: Upgrade,
  { served, servers }: Pick<RouterStatus, 'served' | 'servers'>,
  hostnames: Hostnames,
): NextStop | undefined {
  if (progress === undefined || served === null) return undefined;
  if (away.length > 0 || servers.some(({ stale }) => stale)) return { kind: 'wait' };
  const waiting = served.columns.flatMap(({ version, servers: those }, index) => {
    if ([version, minorVersion(version ?? undefined)].includes(progress.to)) return [];
    const onlyHere = served.differing
      .flatMap(({ rows }) => rows)
      .filter(({ cells }) => cells.every((cell, other) => (cell === 'missing') !== (other === index)));
    const resources = those.length > 1 ? 0 : onlyHere.length;
    return those.map((id) => ({ id, resources }));
  });
  const [next] = waiting.sort(
    (left, right) =>
      left.resources - right.resources ||
      compareNames(displayName(left.id, hostnames), displayName(right.id, hostnames)),
  );
  if (next === undefined) return undefined;
  const { id: server, resources } = next;
  return resources === 0 ? { kind: 'safe', server } : { kind: 'last', server, resources };
}
