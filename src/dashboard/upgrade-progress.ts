import { compareServerVersions, minorVersion } from '../apimachinery/server-version.ts';
import type { HistoryView } from '../own-paths/history/history-view.ts';
import { isUsable } from '../own-paths/status/router-status.ts';
import type { RouterStatus } from '../own-paths/status/status-schema.ts';
import { compareNames } from '../runtime/compare-names.ts';
import type { UpgradeState } from './upgrade-state.ts';
import { displayName, type Hostnames } from './wording/display-names.ts';

type Timeline = HistoryView['timeline'];

/** An upgrade that is on its way, or the way back from one. */
export interface UpgradeProgress {
  /** Minor versions where these differ, else whole ones. */
  readonly from: string;
  readonly to: string;
  /** Servers of the version that all are to have. */
  readonly done: number;
}

/** `undefined` while servers are of one version. Pure. */
export function upgradeProgress(
  { state, shares }: UpgradeState,
  timeline: Timeline,
): UpgradeProgress | undefined {
  const versions = shares.flatMap(({ version }) => (version === undefined ? [] : [version]));
  const [oldest, newest] = [versions[0], versions.at(-1)];
  if (state !== 'mixed' || oldest === undefined || newest === undefined) return undefined;
  const last = timeline.find(({ event }) => event === 'VersionChanged');
  const goesBack = last !== undefined && compareServerVersions(last.to, last.from) < 0;
  const label = labelOf(oldest, newest);
  const [from, to] = goesBack ? [label(newest), label(oldest)] : [label(oldest), label(newest)];
  return {
    from,
    to,
    done: shares
      .filter(({ version }) => version !== undefined && label(version) === to)
      .reduce((sum, share) => sum + share.servers, 0),
  };
}

/** How versions are named: `1.36` unless only the patches differ. */
function labelOf(one: string, other: string): (version: string) => string {
  const differ = minorVersion(one) !== minorVersion(other);
  return (version) => (differ ? minorVersion(version) : undefined) ?? version;
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
  progress: UpgradeProgress | undefined,
  { served, servers }: Pick<RouterStatus, 'served' | 'servers'>,
  hostnames: Hostnames,
): NextStop | undefined {
  if (progress === undefined || served === null) return undefined;
  if (servers.some((server) => server.stale || !isUsable(server))) return { kind: 'wait' };
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
