import * as v from 'valibot';
import { groupVersionString, parseStorageVersionName } from '../../apimachinery/group-version.ts';
import type { ParsedAPIGroupList } from '../../discovery/forms/classic.ts';
import { groupName, versionName } from '../../discovery/forms/parse-document.ts';
import type { ServedSet, Snapshot } from '../../snapshot/format/schema.ts';
import { documentsIn } from './read-openapi-index.ts';
import { groupVersionsIn, type OpenApiReading } from './server-reading.ts';

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
export function excludeGroupVersions(set: ServedSet, excluded: ReadonlySet<string>): ServedSet {
  if (excluded.size === 0) return set;
  const storageVersions = Object.entries(set.storageVersions).flatMap(([name, versions]) => {
    const left = versions.filter((version) => !isExcluded(name, version, excluded));
    return left.length === 0 ? [] : [[name, left] as const];
  });
  return {
    ...set,
    storageVersions: Object.fromEntries(storageVersions),
    ...(set.subresources === undefined ? {} : { subresources: withoutExcluded(set.subresources, excluded) }),
    ...(set.schemas === undefined ? {} : { schemas: withoutExcluded(set.schemas, excluded) }),
  };
}

function withoutExcluded<Value>(
  byName: Readonly<Record<string, Readonly<Record<string, Value>>>>,
  excluded: ReadonlySet<string>,
): Record<string, Readonly<Record<string, Value>>> {
  const kept = Object.entries(byName).flatMap(([name, versions]) => {
    const left = Object.entries(versions).filter(([version]) => !isExcluded(name, version, excluded));
    return left.length === 0 ? [] : [[name, Object.fromEntries(left)] as const];
  });
  return Object.fromEntries(kept);
}

function isExcluded(name: string, version: string, excluded: ReadonlySet<string>): boolean {
  const parsed = parseStorageVersionName(name);
  return parsed !== undefined && excluded.has(groupVersionString(parsed.group, version));
}

/** The group versions (`batch/v1`) that a server's OpenAPI v3 index names, without those of the legacy group. */
export function indexedGroupVersions(openApi: OpenApiReading): readonly string[] {
  if (openApi.kind !== 'read') return [];
  return [...documentsIn(openApi.paths).keys()].filter((groupVersion) => {
    const [group, version] = groupVersion.split('/');
    // They become paths of requests.
    return v.is(groupName, group) && v.is(versionName, version);
  });
}

/** The group versions of a served set, without those of the legacy group. */
export function groupVersionsOf({ discovery }: Pick<ServedSet, 'discovery'>): readonly string[] {
  return [...groupVersionsIn(discovery)].flatMap(({ group, groupVersion }) =>
    group === '' ? [] : groupVersion,
  );
}

/** The list with these group versions, behind its own: the order of those is the server's preference. */
export function withGroupVersions(
  list: ParsedAPIGroupList,
  groupVersions: readonly string[],
): ParsedAPIGroupList {
  const groups = new Map(list.groups.map((group) => [group.name, group]));
  for (const groupVersion of groupVersions) {
    const [name, version] = groupVersion.split('/');
    if (name === undefined || version === undefined) continue;
    const group = groups.get(name) ?? { name, versions: [] };
    if (group.versions.some((listed) => listed.version === version)) continue;
    groups.set(name, { ...group, versions: [...group.versions, { version }] });
  }
  return { ...list, groups: [...groups.values()] };
}
