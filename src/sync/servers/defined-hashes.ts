import { storageVersionName } from '../../apimachinery/group-version.ts';
import { storageVersionHash } from '../../apimachinery/storage-version-hash.ts';
import type { ServedSet } from '../../snapshot/format/types.ts';
import type { CustomResource } from '../cluster/custom-resource-groups.ts';
import { groupVersionsIn } from './server-reading.ts';

/** A watched definition is the same object in each round. */
const hashByDefinition = new WeakMap<CustomResource, string>();

/**
 * The storage version hash of each CustomResourceDefinition, by `<group>.<resource>`: `undefined` if its storage version
 * is not served, for which API servers name none either (apiextensions customresource_discovery_controller.go).
 */
export async function hashesOfDefinitions(
  definitions: readonly CustomResource[],
): Promise<ReadonlyMap<string, string | undefined>> {
  const hashes = new Map<string, string | undefined>();
  for (const definition of definitions) {
    const { group, resource, kind, storageVersion } = definition;
    const known = hashByDefinition.get(definition);
    const hash =
      known ??
      (storageVersion === undefined ? undefined : await storageVersionHash(group, storageVersion, kind));
    if (hash !== undefined) hashByDefinition.set(definition, hash);
    hashes.set(storageVersionName(group, resource), hash);
  }
  return hashes;
}

/**
 * The set with the hashes of those custom resources that it serves. A definition with another storage version changes
 * nothing else in discovery, so the documents are not read again for it.
 */
export function withDefinedHashes(
  set: ServedSet,
  defined: ReadonlyMap<string, string | undefined>,
): ServedSet {
  const { discovery, storageVersionHashes } = set;
  if (storageVersionHashes === undefined || defined.size === 0) return set;
  const hashes = { ...storageVersionHashes };
  for (const { group, resources } of groupVersionsIn(discovery)) {
    for (const { resource } of resources) {
      const name = storageVersionName(group, resource);
      if (!defined.has(name)) continue;
      const hash = defined.get(name);
      if (hash === undefined) delete hashes[name];
      else hashes[name] = hash;
    }
  }
  return { ...set, storageVersionHashes: hashes };
}
