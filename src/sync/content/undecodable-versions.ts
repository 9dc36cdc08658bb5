import {
  groupVersionString,
  parseStorageVersionName,
  storageVersionName,
} from '../../apimachinery/group-version.ts';
import { compareServerVersions, minorVersion } from '../../apimachinery/server-version.ts';
import { storageVersionHash } from '../../apimachinery/storage-version-hash.ts';
import type { ServedSet } from '../../snapshot/format/schema.ts';
import type { GroupAndVersion } from '../cluster/custom-resource-groups.ts';
import type { DecodableVersions } from '../cluster/storage-versions.ts';
import { groupVersionsIn } from '../servers/server-reading.ts';

export interface StoringServer {
  readonly id: string;
  /** `gitVersion`; `undefined` if it is not known. */
  readonly version: string | undefined;
  readonly set: ServedSet;
}

/** `<group>.<resource>` to group versions, as in `ServedSet.undecodableVersions`. */
export type UndecodableVersions = NonNullable<ServedSet['undecodableVersions']>;

/**
 * By server ID: group versions at which other servers store a resource, and which this server cannot decode. Servers
 * without any are left out.
 *
 * A server's StorageVersions say what it decodes. Without them, it decodes what it serves, and everything that servers of
 * its own minor version or of an older one store: a storage version may not advance until a release has served it
 * (Kubernetes deprecation policy, rule 4b), so only older servers fail.
 *
 * @param shared group versions of custom resources and extension API servers, which all servers decode alike
 */
export async function undecodableVersions(
  servers: readonly StoringServer[],
  decodable: DecodableVersions,
  shared: ReadonlySet<string>,
): Promise<ReadonlyMap<string, UndecodableVersions>> {
  const stored = storedVersions(servers);
  const groupVersions = memoized(() => groupVersionsByHash(servers));
  const found = new Map<string, UndecodableVersions>();
  for (const { id, version, set } of servers) {
    const undecodable: Record<string, readonly string[]> = {};
    for (const [name, versions] of Object.entries(set.storageVersions)) {
      const resource = parseStorageVersionName(name)?.resource;
      const hashes = stored.get(name);
      if (resource === undefined || hashes === undefined) continue;
      const own = set.storageVersionHashes?.[name];
      const failing: string[] = [];
      for (const [hash, newestWriter] of hashes) {
        if (hash === own) continue;
        const storedAt = (await groupVersions()).get(hash);
        if (storedAt === undefined || shared.has(groupVersionString(storedAt.group, storedAt.version)))
          continue;
        const storedName = storageVersionName(storedAt.group, resource);
        const storedText = groupVersionString(storedAt.group, storedAt.version);
        const decoded = decodable.get(id)?.get(storedName);
        const serves = set.storageVersions[storedName]?.includes(storedAt.version) === true;
        const isOlder = compareServerVersions(minorVersion(version), newestWriter) < 0;
        const decodes = decoded === undefined ? serves || !isOlder : decoded.includes(storedText);
        if (!decodes) failing.push(storedText);
      }
      if (failing.length > 0 && versions.length > 0) undecodable[name] = failing.sort();
    }
    if (Object.keys(undecodable).length > 0) found.set(id, undecodable);
  }
  return found;
}

/** `<group>.<resource>` to the hashes of the versions it is stored at, each with the newest minor version that uses it. */
function storedVersions(
  servers: readonly StoringServer[],
): ReadonlyMap<string, ReadonlyMap<string, string | undefined>> {
  const stored = new Map<string, Map<string, string | undefined>>();
  for (const { version, set } of servers) {
    const minor = minorVersion(version);
    for (const [name, hash] of Object.entries(set.storageVersionHashes ?? {})) {
      const writers = stored.get(name) ?? new Map<string, string | undefined>();
      stored.set(name, writers);
      if (!writers.has(hash) || compareServerVersions(writers.get(hash), minor) < 0) writers.set(hash, minor);
    }
  }
  return stored;
}

/** The group version of each hash, if a server serves it: a hash alone does not show it. */
async function groupVersionsByHash(
  servers: readonly StoringServer[],
): Promise<ReadonlyMap<string, GroupAndVersion>> {
  const kinds = new Map<string, GroupAndVersion & { readonly kind: string }>();
  for (const discovery of new Set(servers.map(({ set }) => set.discovery ?? []))) {
    for (const { group, version, resources } of groupVersionsIn(discovery)) {
      for (const { responseKind } of resources) {
        const kind = responseKind?.kind ?? '';
        kinds.set(`${group}/${version}/${kind}`, { group, version, kind });
      }
    }
  }
  const entries = await Promise.all(
    [...kinds.values()].map(
      async ({ group, version, kind }) =>
        [await storageVersionHash(group, version, kind), { group, version }] as const,
    ),
  );
  return new Map(entries);
}

function memoized<Result>(compute: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined;
  return () => {
    result ??= compute();
    return result;
  };
}
