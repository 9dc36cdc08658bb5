import * as v from 'valibot';
import { groupVersionString } from '../../apimachinery/group-version.ts';
import type { ParsedAPIGroupList } from '../../discovery/forms/parse-classic.ts';
import { groupName, versionName } from '../../discovery/forms/parse-document.ts';
import type { ServedSet } from '../../snapshot/format/types.ts';
import { groupVersionsIn, type OpenApiReading } from './server-reading.ts';

/** A path in the index that names a group version, not a group. */
const groupVersionPath = /^apis\/([^/]+)\/([^/]+)$/;

/** The group versions (`batch/v1`) that a server's OpenAPI v3 index names, without those of the legacy group. */
export function indexedGroupVersions(openApi: OpenApiReading): readonly string[] {
  if (openApi.kind !== 'read') return [];
  return Object.keys(openApi.paths).flatMap((path) => {
    const [, group, version] = groupVersionPath.exec(path) ?? [];
    // They become paths of requests.
    return v.is(groupName, group) && v.is(versionName, version) ? [groupVersionString(group, version)] : [];
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
