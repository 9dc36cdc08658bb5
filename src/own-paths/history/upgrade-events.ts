import type { HealthChange } from '../../health/server-health.ts';
import { canonicalJson } from '../../runtime/canonical-json.ts';
import type { Snapshot } from '../../snapshot/format/types.ts';
import { oldSnapshotAge, type RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** An event of the cluster, as this router noticed it. */
export interface UpgradeEvent {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly event:
    | 'FirstSnapshot'
    | 'ServerJoined'
    | 'ServerLeft'
    /** It has left and may come back. */
    | 'ServerDeparted'
    | 'ServerReturned'
    | 'VersionChanged'
    /** In one version: feature gates, `--runtime-config`, or what it had not finished when it was read first. */
    | 'ServedResourcesChanged'
    /** The version that requests go to where servers of several versions differ. */
    | 'PreferredVersionChanged'
    | 'SnapshotLate'
    | 'SnapshotRenewed'
    | 'ServerUnhealthy'
    | 'ServerHealthy';
  /** ID of the server concerned, if there is one. */
  readonly server?: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** A table, and what it means to this router. */
export interface KnownCluster {
  readonly table: RoutingTable;
  /** The preferred minor version; `undefined` while it makes no difference. */
  readonly preferred: string | undefined;
}

/** What is new with `after`. @param now milliseconds since the epoch. Pure. */
export function upgradeEvents(
  before: KnownCluster | undefined,
  after: KnownCluster,
  now: number,
): readonly UpgradeEvent[] {
  if (before === undefined) return [{ at: now, event: 'FirstSnapshot' }];
  // The same table: only what is preferred in it may have changed.
  const late = before.table === after.table ? undefined : lateEvent(before.table, now);
  const events: UpgradeEvent[] = late === undefined ? [] : [late, { at: now, event: 'SnapshotRenewed' }];
  if (before.table.snapshot !== after.table.snapshot) events.push(...serverEvents(before, after, now));
  if (before.preferred !== after.preferred) {
    events.push({ at: now, event: 'PreferredVersionChanged', from: before.preferred, to: after.preferred });
  }
  return events;
}

/** The snapshot has become old: nobody has renewed it. Pure. */
export function lateEvent({ createdAt }: RoutingTable, now: number): UpgradeEvent | undefined {
  const at = createdAt + oldSnapshotAge;
  return now < at ? undefined : { at, event: 'SnapshotLate' };
}

function serverEvents(before: KnownCluster, after: KnownCluster, at: number): readonly UpgradeEvent[] {
  const old = new Map(before.table.snapshot.servers.map((server) => [server.id, server]));
  const events: UpgradeEvent[] = [];
  for (const { id: server, version, serves, departedAt } of after.table.snapshot.servers) {
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
    else if (
      serves !== was.serves &&
      servedResources(after.table.snapshot, serves) !== servedResources(before.table.snapshot, was.serves)
    )
      events.push({ at, event: 'ServedResourcesChanged', server });
  }
  for (const [server, { version }] of old) events.push({ at, event: 'ServerLeft', server, from: version });
  return events;
}

/** Without schemas: a served set gets another name as soon as they are compared, and serves what it did. */
function servedResources({ servedSets }: Snapshot, name: string): string {
  const { storageVersions, subresources } = servedSets[name] ?? {};
  return canonicalJson({ storageVersions: storageVersions ?? {}, subresources: subresources ?? {} });
}

/** `undefined` for a server that is first seen, and healthy. Pure. */
export function healthEvent({ id, from, to, cause }: HealthChange, at: number): UpgradeEvent | undefined {
  if (to === 'unhealthy') return { at, event: 'ServerUnhealthy', server: id, to: cause };
  return to === 'healthy' && from === 'unhealthy' ? { at, event: 'ServerHealthy', server: id } : undefined;
}
