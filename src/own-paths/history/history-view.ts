import { compareCountedVersions, compareServerVersions } from '../../apimachinery/server-version.ts';
import { serversOf } from '../../routing/decide.ts';
import type { DecisionReason } from '../../routing/decision.ts';
import { compareNames } from '../../runtime/compare-names.ts';
import type { HealthChange } from '../../servers/server-book.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { keptMinutes, type Minute, type MinuteRing, minuteNumber, type ServerMinute } from './minute-ring.ts';
import type { PartialUse, ResourceUse } from './partial-use.ts';

/** Requests of the last hour, of a server, of a version, or of all. */
export interface Traffic {
  readonly requests: number;
  /** Requests a second in the last whole minute; before there has been one, since the router started. */
  readonly perSecond: number;
  readonly refused: number;
  readonly failed: number;
  /** Requests of each of the last sixty minutes, the oldest first; the last one has not ended yet. */
  readonly perMinute: readonly number[];
}

/** The view of `v1/history`: the last hour as this router saw it. Times are RFC 3339. */
export interface HistoryView {
  /** The later of an hour ago and the start of this router. */
  readonly since: string;
  /**
   * Seconds of each minute of `perMinute` in which the router ran: fewer than sixty in the minute of its start and in the
   * running one, and 0 before it started.
   */
  readonly secondsOfMinutes: readonly number[];
  /** All requests of this router's clients but those for health and the router's own paths. */
  readonly total: Traffic;
  /** `null`: the router responded itself. In the order of their IDs. */
  readonly servers: readonly (Traffic & { readonly id: string | null })[];
  /** The oldest version first. `null`: it was not known, or the router responded itself. */
  readonly versions: readonly (Traffic & { readonly version: string | null })[];
  /** Requests that did not go to the local server. */
  readonly rerouted: {
    readonly requests: number;
    readonly reasons: readonly { readonly reason: DecisionReason; readonly requests: number }[];
  };
  /** Events of the cluster, the newest first. */
  readonly timeline: readonly (Omit<UpgradeEvent, 'at'> & { readonly at: string })[];
  /** Resources that not all servers serve, with those who use them, the most used first. */
  readonly partlyServed: readonly PartlyServed[];
  /** Requests for further resources of the kind than are kept, since the router started. */
  readonly otherPartlyServed: number;
}

export interface PartlyServed {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** No server of the newest version serves it: it goes with the upgrade, or has gone. `null`: some server serves it, and all are of one version. */
  readonly vanishes: boolean | null;
  readonly requests: number;
  readonly lastSeen: string;
  readonly userAgents: readonly Client[];
  readonly otherUserAgents: number;
  /** An empty name: the router did not authenticate the caller. */
  readonly users: readonly Client[];
  readonly otherUsers: number;
}

interface Client {
  readonly name: string;
  readonly requests: number;
  readonly lastSeen: string;
}

interface HistorySources {
  readonly now: number;
  readonly startedAt: number;
  readonly table: RoutingTable | undefined;
  readonly ring: Pick<MinuteRing, 'kept'>;
  readonly use: Pick<PartialUse, 'list' | 'otherRequests'>;
  readonly events: readonly UpgradeEvent[];
}

export function historyView({ now, startedAt, table, ring, use, events }: HistorySources): HistoryView {
  const minutes = ring.kept(now);
  const slots = minutes.flatMap(({ number, servers }) => servers.map((slot) => ({ number, slot })));
  const since = Math.max(startedAt, firstMinute(now) * 60_000);
  const span = { now, startedAt };
  return {
    since: new Date(since).toISOString(),
    secondsOfMinutes: Array.from({ length: keptMinutes }, (_, index) =>
      secondsOf(firstMinute(now) + index, span),
    ),
    total: traffic(slots, span),
    servers: [...grouped(slots, ({ id }) => id)]
      .map(([id, group]) => ({ id: id === '' ? null : id, ...traffic(group, span) }))
      .sort((left, right) => compareNames(left.id ?? '', right.id ?? '')),
    versions: [...grouped(slots, ({ version }) => version ?? '')]
      .map(([version, group]) => ({ version: version === '' ? null : version, ...traffic(group, span) }))
      .sort((left, right) => compareServerVersions(left.version ?? undefined, right.version ?? undefined)),
    rerouted: reroutedOf(minutes),
    timeline: events
      .toSorted((left, right) => right.at - left.at)
      .map(({ at, ...event }) => ({ at: new Date(at).toISOString(), ...event })),
    partlyServed: use.list(now).flatMap((each) => partlyServed(each, table)),
    otherPartlyServed: use.otherRequests,
  };
}

interface Slot {
  readonly number: number;
  readonly slot: ServerMinute;
}

function grouped(slots: readonly Slot[], keyOf: (slot: ServerMinute) => string): Map<string, Slot[]> {
  return Map.groupBy(slots, ({ slot }) => keyOf(slot));
}

type Span = Pick<HistorySources, 'now' | 'startedAt'>;

const firstMinute = (now: number): number => minuteNumber(now) - keptMinutes + 1;

/** Seconds of the minute that lie between the start of the router and now. */
function secondsOf(minute: number, { now, startedAt }: Span): number {
  const milliseconds = Math.min(now, (minute + 1) * 60_000) - Math.max(startedAt, minute * 60_000);
  return Math.max(0, milliseconds) / 1_000;
}

/** Requests over less than this many seconds say nothing of a rate. */
const shortestSpan = 5;

/** Requests a second, with one decimal; 0 where the span is too short to tell. */
export function rate(requests: number, seconds: number): number {
  return seconds < shortestSpan ? 0 : Math.round((requests / seconds) * 10) / 10;
}

function traffic(slots: readonly Slot[], span: Span): Traffic {
  const perMinute = new Array<number>(keptMinutes).fill(0);
  const first = firstMinute(span.now);
  let [requests, refused, failed] = [0, 0, 0];
  for (const { number, slot } of slots) {
    requests += slot.requests;
    refused += slot.refused;
    failed += slot.failed;
    perMinute[number - first] = (perMinute[number - first] ?? 0) + slot.requests;
  }
  const [lastWhole = 0, running = 0] = perMinute.slice(-2);
  const ofLastWhole = secondsOf(minuteNumber(span.now) - 1, span);
  const ofRunning = secondsOf(minuteNumber(span.now), span);
  return {
    requests,
    perSecond: ofLastWhole === 60 ? rate(lastWhole, 60) : rate(lastWhole + running, ofLastWhole + ofRunning),
    refused,
    failed,
    perMinute,
  };
}

function reroutedOf(minutes: readonly Minute[]): HistoryView['rerouted'] {
  const reasons = new Map<DecisionReason, number>();
  for (const [reason, requests] of minutes.flatMap((minute) => [...minute.reasons])) {
    reasons.set(reason, (reasons.get(reason) ?? 0) + requests);
  }
  return {
    requests: [...reasons.values()].reduce((sum, requests) => sum + requests, 0),
    reasons: [...reasons]
      .map(([reason, requests]) => ({ reason, requests }))
      .sort((left, right) => right.requests - left.requests),
  };
}

function partlyServed(use: ResourceUse, table: RoutingTable | undefined): readonly PartlyServed[] {
  const { group, version, resource, subresource, requests, lastSeen, otherUserAgents, otherUsers } = use;
  const info = { apiGroup: group, apiVersion: version, resource, subresource };
  if (table === undefined) return [];
  const servedBy = serversOf(info, table);
  const isServedByAll = servedBy?.servers.length === table.servers.length;
  if (isServedByAll) return [];
  const newest = newestMinor(table);
  return [
    {
      group,
      version,
      resource,
      subresource,
      vanishes:
        servedBy === undefined
          ? true
          : newest === undefined
            ? null
            : !servedBy.servers.some(({ minor }) => compareCountedVersions(minor, newest) === 0),
      requests,
      lastSeen: new Date(lastSeen).toISOString(),
      userAgents: clients(use.userAgents),
      otherUserAgents,
      users: clients(use.users),
      otherUsers,
    },
  ];
}

/** `undefined` while all servers whose version is known are of one. */
function newestMinor({ comparison }: RoutingTable): string | undefined {
  return comparison !== undefined && compareCountedVersions(comparison.newest, comparison.oldest) > 0
    ? comparison.newest
    : undefined;
}

function clients(used: ResourceUse['userAgents']): readonly Client[] {
  return [...used.values()]
    .sort((left, right) => right.requests - left.requests)
    .map(({ name, requests, lastSeen }) => ({
      name,
      requests,
      lastSeen: new Date(lastSeen).toISOString(),
    }));
}

export interface UpgradeEvent {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly event:
    | 'FirstSnapshot'
    | 'ServerJoined'
    | 'ServerLeft'
    | 'ServerDeparted'
    | 'ServerReturned'
    | 'VersionChanged'
    /** The version that requests go to where servers of several versions differ. */
    | 'PreferredVersionChanged'
    | 'ServerUnhealthy'
    | 'ServerHealthy';
  readonly server?: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface KnownCluster {
  readonly table: RoutingTable;
  /** The preferred minor version; `undefined` while it makes no difference. */
  readonly preferred: string | undefined;
}

/** Events that are new with `after`. @param now milliseconds since the epoch. Pure. */
export function upgradeEvents(
  before: KnownCluster | undefined,
  after: KnownCluster,
  now: number,
): readonly UpgradeEvent[] {
  if (before === undefined) return [{ at: now, event: 'FirstSnapshot' }];
  const isSame = before.table.snapshot === after.table.snapshot;
  const events = isSame ? [] : serverEvents(before, after, now);
  if (before.preferred !== after.preferred) {
    events.push({ at: now, event: 'PreferredVersionChanged', from: before.preferred, to: after.preferred });
  }
  return events;
}

function serverEvents(before: KnownCluster, after: KnownCluster, at: number): UpgradeEvent[] {
  const old = new Map(before.table.snapshot.servers.map((server) => [server.id, server]));
  const events: UpgradeEvent[] = [];
  for (const { id: server, version, departedAt } of after.table.snapshot.servers) {
    const was = old.get(server);
    old.delete(server);
    if (was === undefined) {
      events.push({ at, event: 'ServerJoined', server, to: version });
      continue;
    }
    if (departedAt !== undefined && was.departedAt === undefined)
      events.push({ at, event: 'ServerDeparted', server });
    if (departedAt === undefined && was.departedAt !== undefined)
      events.push({ at, event: 'ServerReturned', server });
    if (version !== was.version)
      events.push({ at, event: 'VersionChanged', server, from: was.version, to: version });
  }
  for (const [server, { version }] of old) events.push({ at, event: 'ServerLeft', server, from: version });
  return events;
}

/** `undefined` for a server that is first seen, and healthy. Pure. */
export function healthEvent(
  { id, status, isDown, wasDown }: HealthChange,
  at: number,
): UpgradeEvent | undefined {
  if (isDown) return { at, event: 'ServerUnhealthy', server: id, to: status };
  return wasDown ? { at, event: 'ServerHealthy', server: id } : undefined;
}
