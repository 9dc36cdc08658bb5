import type { RequestInfo } from '../apimachinery/request-info.ts';
import { compareCountedVersions } from '../apimachinery/server-version.ts';
import { connectSubresources } from '../apimachinery/subresources.ts';
import type {
  MinorVersions,
  RoutingServer,
  RoutingTable,
  ServedBy,
  ServersOfVersion,
  VersionComparison,
} from '../snapshot/routing-table/routing-table.ts';
import { comparePreference, stepAt } from '../snapshot/routing-table/served-by.ts';
import type { Decision, DecisionContext, DecisionReason, PreferredVersion } from './decision.ts';

export const defaultPreferredVersion: PreferredVersion = 'majority';

const minorVersionPattern = /^(?:0|[1-9]\d{0,3})\.(?:0|[1-9]\d{0,3})$/;

export function isPreferredVersion(text: string): text is PreferredVersion {
  return ['majority', 'newest', 'oldest', 'local'].includes(text) || minorVersionPattern.test(text);
}

/**
 * The version that responds at a time, by the snapshot alone: of a named one that no server has, the next. `undefined` where
 * no version is preferred.
 * @param now by the clock of `RoutingTable.changes`. Default: once all changes count
 */
export function preferredMinor(
  { comparison }: Pick<RoutingTable, 'comparison'>,
  version: PreferredVersion = defaultPreferredVersion,
  now = Number.POSITIVE_INFINITY,
): string | undefined {
  if (comparison === undefined || version === 'local') return undefined;
  return minorAmong(stepAt(comparison, now) ?? comparison, version);
}

function minorAmong(
  versions: MinorVersions,
  version: Exclude<PreferredVersion, 'local'>,
): string | undefined {
  if (version === 'majority' || version === 'newest' || version === 'oldest') return versions[version];
  return versions.minors.toSorted((left, right) => comparePreference(left, right, version))[0];
}

export interface ComingPreference {
  readonly minor: string;
  /** This router changes then, by the clock of `RoutingTable.changes`. */
  readonly at: number;
  /** From then on another router may have changed. */
  readonly waitFrom: number;
}

/** The next change of the preferred version that the snapshot foresees. @param now by the clock of `RoutingTable.changes` */
export function comingPreference(
  { comparison }: Pick<RoutingTable, 'comparison'>,
  version: PreferredVersion = defaultPreferredVersion,
  now = Number.POSITIVE_INFINITY,
): ComingPreference | undefined {
  if (comparison === undefined || version === 'local') return undefined;
  const steps = comparison.before.filter(({ until }) => now < until);
  const isSettled = ({ others, ...versions }: VersionComparison['before'][number]): boolean => {
    const preferred = minorAmong(versions, version);
    return others?.every((each) => each !== undefined && minorAmong(each, version) === preferred) === true;
  };
  const first = steps.findIndex((step) => !isSettled(step));
  const begins = steps[first];
  if (begins === undefined) return undefined;
  // One change may follow on another.
  const next = steps.findIndex((step, index) => index > first && isSettled(step));
  const after = next === -1 ? undefined : steps[next];
  const at = after?.from ?? steps.at(-1)?.until ?? now;
  const minor = minorAmong(after ?? comparison, version);
  return minor === undefined ? undefined : { minor, at, waitFrom: begins.from };
}

/**
 * True if another version may be preferred once it is known which ones these servers have now: every other server may be as
 * the snapshot says. Pure.
 */
export function mayTip(
  table: Pick<RoutingTable, 'comparison' | 'servers'>,
  ids: ReadonlySet<string>,
  version: PreferredVersion = defaultPreferredVersion,
  now = Number.POSITIVE_INFINITY,
): boolean {
  if (version === 'local') return false;
  if (version !== 'majority') return true;
  const others = table.servers.filter(({ id }) => !ids.has(id));
  const counts = new Map<string | undefined, number>();
  for (const { minor } of others) counts.set(minor, (counts.get(minor) ?? 0) + 1);
  const preferred = preferredMinor(table, version, now) ?? others[0]?.minor;
  const most = counts.get(preferred) ?? 0;
  counts.delete(preferred);
  return Math.max(0, ...counts.values()) + ids.size >= most;
}

/** The same table, whose documents speak for the version that responds. */
export function ledByPreference(
  table: RoutingTable,
  version: PreferredVersion | undefined,
  now: number,
): RoutingTable {
  const leadingMinor = preferredMinor(table, version, now);
  return leadingMinor === undefined ? table : { ...table, leadingMinor };
}

/**
 * The servers that a request may go to, by version, where it matters which version it meets: the first is the one that
 * every router with this snapshot chooses. `undefined` where it does not matter, or one version is all there is. Pure.
 *
 * Reads follow it as writes do: a field that a read has lost is removed by the write that follows.
 * @param servedBy left out for a custom resource: all servers serve it, alike but for what they enforce
 */
export function serversByPreference(
  requestInfo: RequestInfo,
  servedBy: ServedBy | undefined,
  table: RoutingTable,
  { now, preferredVersion }: Pick<DecisionContext, 'now' | 'preferredVersion'>,
): readonly ServersOfVersion[] | undefined {
  const { comparison } = table;
  const { apiGroup, apiVersion, resource } = requestInfo;
  if (table.extension(apiGroup, apiVersion) !== undefined) return undefined;
  const preferred = preferredMinor(table, preferredVersion, now);
  if (comparison === undefined || preferred === undefined) return undefined;
  const isCustom = table.isCustomResource(apiGroup, apiVersion);
  const candidates = servedBy ?? (isCustom ? table.everyServer : undefined);
  if (candidates === undefined) return undefined;
  const uncounted = stepAt(comparison, now ?? Number.POSITIVE_INFINITY)?.uncounted;
  const matters =
    table.resource(apiGroup, apiVersion, resource)?.differs === true ||
    (comparison.enforcementDiffers && isWrite(requestInfo)) ||
    // Nobody can say any more how the version of before differed.
    (comparison.minors.length < 2 && uncounted !== undefined);
  if (!matters) return undefined;
  const byPreference = candidates.byPreference(preferred);
  const inOrder = uncounted === undefined ? byPreference : countedFirst(byPreference, uncounted);
  return inOrder.length < 2 ? undefined : inOrder;
}

/** A server that does not count yet is of its version for this router alone. */
function countedFirst(
  byPreference: readonly ServersOfVersion[],
  uncounted: ReadonlySet<string>,
): readonly ServersOfVersion[] {
  const those = (isCounted: boolean) =>
    byPreference.flatMap(({ minor, serverIds, reachable }) => {
      const ids = [...serverIds].filter((id) => uncounted.has(id) !== isCounted);
      if (ids.length === 0) return [];
      return { minor, serverIds: new Set(ids), reachable: reachable.filter(({ id }) => ids.includes(id)) };
    });
  return [...those(true), ...those(false)];
}

/** Admission checks subresources with the operation CONNECT for every verb. */
export function isWrite({ verb, subresource }: RequestInfo): boolean {
  return (verb !== 'get' && verb !== 'list' && verb !== 'watch') || connectSubresources.has(subresource);
}

/** True if a server of this version may lose what the preferred one knows. */
export function isOlder(minor: string | undefined, preferred: string | undefined): boolean {
  return compareCountedVersions(minor, preferred) < 0;
}

/**
 * Rule 3a: who gets a request whose outcome depends on the version. `undefined` where the local server is of the version
 * that is to respond and is up, or where none of them can be asked: the rules that follow say what becomes of it. Pure.
 * @param byPreference as `serversByPreference` gives it
 * @param locally the reason that the local server would have responded for
 */
export function decideByVersion(
  byPreference: readonly ServersOfVersion[],
  table: RoutingTable,
  context: DecisionContext,
  locally: DecisionReason,
): Extract<Decision, { decision: 'peer' }> | undefined {
  const [first] = byPreference;
  if (first === undefined) return undefined;
  const { serverId, localServerIsDown = false } = context;
  const isLocals = serverId !== undefined && first.serverIds.has(serverId);
  if (isLocals && !localServerIsDown) return undefined;
  const askable = byPreference
    .map((version) => ({ ...version, reachable: askableServers(version, table, context) }))
    .filter(({ reachable }) => reachable.length > 0);
  const [asked, ...inOrder] = askable;
  if (asked === undefined) return undefined;
  return {
    decision: 'peer',
    ...(isLocals ? { reason: 'LocalServerDown', inPlaceOf: locally } : { reason: 'PreferredVersion' }),
    candidates: asked.reachable,
    versions: {
      preferred: first.minor,
      asked: asked.minor,
      others: inOrder,
      ofEveryServer: locally === 'CustomResource',
    },
  };
}

function askableServers(
  { serverIds, reachable }: ServersOfVersion,
  table: RoutingTable,
  { serverId, localServerIsDown = false }: DecisionContext,
): readonly RoutingServer[] {
  if (serverId === undefined || !serverIds.has(serverId)) return reachable;
  const others = reachable.filter(({ id }) => id !== serverId);
  const local = table.server(serverId);
  return localServerIsDown || local === undefined ? others : [local, ...others];
}

/**
 * True if a watch that was given to `serverId` because of `before` would go to a server of another version now. The
 * version that responds has changed then, or a server of it is back. Pure.
 * @param isLocal whether `serverId` is the local server's
 * @param isOfAnotherVersion whether it matters now which version responds, and `serverId` is of another one: the watch may have
 *   gone there when all were alike, because the local server was down
 */
export function goesElsewhere(
  before: Decision,
  now: Decision,
  serverId: string,
  isLocal: boolean,
  isOfAnotherVersion = false,
): boolean {
  if (now.decision === 'peer') {
    return now.versions !== undefined && !now.candidates.some(({ id }) => id === serverId);
  }
  const wasByVersion = before.decision === 'peer' && before.versions !== undefined;
  return now.decision === 'local' && (wasByVersion || isOfAnotherVersion) && !isLocal;
}
