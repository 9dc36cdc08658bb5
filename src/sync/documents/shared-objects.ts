import * as v from 'valibot';
import { groupVersionString, parseStorageVersionName } from '../../apimachinery/group-version.ts';
import { createTimeSlice } from '../../runtime/time.ts';
import { quoted } from '../../runtime/validation.ts';
import type { ServedSet, Snapshot, SnapshotApiService } from '../../snapshot/format/schema.ts';
import { customResourceGroup, apiService as snapshotApiService } from '../../snapshot/format/schema.ts';
import { checkedDocument } from './server-documents.ts';

/** Objects that all API servers of a cluster share. `undefined`: nothing was read, the last known ones are used. */
export interface ClusterObjects {
  readonly apiServices: readonly SnapshotApiService[] | undefined;
  readonly customResourceGroups: readonly GroupAndVersion[] | undefined;
  readonly warnings: readonly string[];
}

export const apiServicesPath = '/apis/apiregistration.k8s.io/v1/apiservices';

/** The part of k8s.io/kube-aggregator pkg/apis/apiregistration/v1/types.go that routing needs. */
const apiService = v.object({
  spec: v.object({
    group: v.nullish(v.string(), ''),
    version: v.string(),
    service: v.nullish(v.object({ namespace: v.string(), name: v.string() })),
  }),
  status: v.nullish(
    v.object({ conditions: v.nullish(v.array(v.object({ type: v.string(), status: v.string() })), []) }),
    {},
  ),
});

/**
 * Sorted by group and version, each once (upstream requires that the name says both). Without those that routers would
 * refuse, and with a warning about each: one invalid APIService would block all updates.
 */
export function apiServicesOf(parsed: readonly SnapshotApiService[]) {
  const byName = new Map<string, SnapshotApiService>();
  const warnings: string[] = [];
  for (const service of parsed) {
    const name = `${service.version}.${service.group}`;
    if (!v.is(snapshotApiService, service)) {
      warnings.push(`APIService ${quoted(name)} is left out: its spec does not meet upstream's validation`);
    } else if (!byName.has(name)) byName.set(name, service);
  }
  return { apiServices: [...byName.values()].sort(byGroupAndVersion), warnings };
}

export function parseApiService(object: unknown): SnapshotApiService {
  const { spec, status } = checkedDocument(apiService, apiServicesPath, object);
  const { group, version } = spec;
  // The API servers themselves serve it: for kube-aggregator such an APIService is always available.
  if (spec.service == null) return { group, version, available: true };
  const { namespace, name } = spec.service;
  // kube-aggregator sends no request to a service whose Available condition is missing or not True (handler_proxy.go).
  const available = status.conditions.some(({ type, status }) => type === 'Available' && status === 'True');
  return { group, version, service: { namespace, name }, available };
}

function byGroupAndVersion(one: GroupAndVersion, other: GroupAndVersion): number {
  if (one.group !== other.group) return one.group < other.group ? -1 : 1;
  if (one.version === other.version) return 0;
  return one.version < other.version ? -1 : 1;
}

export const customResourceDefinitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const customResourceDefinition = v.object({
  spec: v.object({ group: v.string(), versions: v.array(v.object({ name: v.string() })) }),
});

export type GroupAndVersion = Snapshot['customResourceGroups'][number];

/**
 * The group versions of a CustomResourceDefinition. Every version counts, served or not, as in upstream's exclusion of
 * custom resources from peer routing (peerproxy/gv_exclusion_manager.go).
 */
export function parseCustomResourceDefinition(object: unknown): readonly GroupAndVersion[] {
  const { spec } = checkedDocument(customResourceDefinition, customResourceDefinitionsPath, object);
  return spec.versions.map(({ name }) => ({ group: spec.group, version: name }));
}

/** Group versions that a snapshot can hold, sorted, each once. */
export function customResourceGroupsOf(definitions: readonly (readonly GroupAndVersion[])[]) {
  const groupVersions = definitions.flat().filter((groupVersion) => v.is(customResourceGroup, groupVersion));
  const byName = new Map(
    groupVersions.map((each) => [groupVersionString(each.group, each.version), each] as const),
  );
  return [...byName.values()].sort(byGroupAndVersion);
}

/**
 * The group versions that belong to no single server, as `<group>/<version>`: those of extension API servers and of
 * custom resources. Upstream excludes them from peer routing too (peerproxy/gv_exclusion_manager.go).
 */
export function sharedGroupVersions(
  apiServices: Snapshot['apiServices'],
  customResourceGroups: Snapshot['customResourceGroups'],
): ReadonlySet<string> {
  const shared = new Set<string>();
  for (const { group, version, service } of apiServices) {
    if (service !== undefined) shared.add(groupVersionString(group, version));
  }
  for (const { group, version } of customResourceGroups) shared.add(groupVersionString(group, version));
  return shared;
}

/**
 * The set without what is routed by its APIService or CustomResourceDefinition. Every API server lists those in its
 * discovery: with them, the rule "the local server serves it" would always match first, and sets would differ while a
 * new definition spreads. `discovery` keeps them, so that clients find them.
 */
export async function excludeGroupVersions(
  set: ServedSet,
  excluded: ReadonlySet<string>,
): Promise<ServedSet> {
  if (excluded.size === 0) return set;
  const slice = createTimeSlice();
  type ByName<Versions> = Readonly<Record<string, Versions>>;
  type IsKept = (version: string) => boolean;
  async function kept<Versions extends object>(
    byName: ByName<Versions>,
    keep: (versions: Versions, isKept: IsKept) => Versions,
  ): Promise<ByName<Versions>> {
    const entries: [string, Versions][] = [];
    for (const [name, versions] of Object.entries(byName)) {
      const group = parseStorageVersionName(name)?.group;
      const isKept: IsKept = (version) =>
        group === undefined || !excluded.has(groupVersionString(group, version));
      const left = keep(versions, isKept);
      if (Object.keys(left).length > 0) entries.push([name, left]);
      await slice.rest();
    }
    return Object.fromEntries(entries);
  }
  const entriesKept = <Value>(versions: ByName<Value>, isKept: IsKept): ByName<Value> =>
    Object.fromEntries(Object.entries(versions).filter(([version]) => isKept(version)));
  const { subresources, schemas } = set;
  return {
    ...set,
    storageVersions: await kept(set.storageVersions, (versions, isKept) => versions.filter(isKept)),
    ...(subresources && { subresources: await kept(subresources, entriesKept) }),
    ...(schemas && { schemas: await kept(schemas, entriesKept) }),
  };
}
