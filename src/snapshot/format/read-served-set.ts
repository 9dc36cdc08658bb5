import { parseStorageVersionName } from '../../apimachinery/group-version.ts';
import type { TimeSlice } from '../../runtime/time-slice.ts';
import { isDns1035Label, isDns1123Subdomain, isVisibleAscii } from '../addresses/names.ts';
import type { DocumentReader } from './document-reader.ts';
import { fieldPath } from './issues.ts';
import { snapshotLimits } from './limits.ts';
import type { GroupReader } from './read-discovery.ts';
import {
  groupVersions,
  servedVersions,
  serverRelativeURL,
  storageVersionHash,
  subresourceNames,
} from './schema.ts';
import type { ServedSet } from './types.ts';

/** One entry of `servedSets`. What comes back is whole only if no faults were added. */
export async function readServedSet(
  reader: DocumentReader,
  input: unknown,
  path: string,
  groups: GroupReader,
  slice: TimeSlice,
): Promise<ServedSet | undefined> {
  const members = [
    'storageVersions',
    'subresources',
    'storageVersionHashes',
    'schemas',
    'undecodableVersions',
    'discovery',
    'openapiV3',
  ] as const;
  const set = reader.members(input, path, members);
  if (set === undefined) return undefined;
  const at = (key: string): string => fieldPath(path, key);
  const discovery =
    set.discovery === undefined ? undefined : await groups.readList(set.discovery, at('discovery'));
  await slice.rest();
  return {
    storageVersions: Object.fromEntries(
      reader.map(
        set.storageVersions,
        at('storageVersions'),
        snapshotLimits.resources,
        storageVersionNameFault,
        (value, valuePath) => reader.read(servedVersions, value, valuePath),
      ),
    ),
    ...(set.subresources === undefined
      ? {}
      : { subresources: readSubresources(reader, set.subresources, at('subresources')) }),
    ...(set.storageVersionHashes === undefined
      ? {}
      : {
          storageVersionHashes: Object.fromEntries(
            reader.map(
              set.storageVersionHashes,
              at('storageVersionHashes'),
              snapshotLimits.resources,
              storageVersionNameFault,
              (hash, hashPath) => reader.read(storageVersionHash, hash, hashPath),
            ),
          ),
        }),
    ...(set.schemas === undefined ? {} : { schemas: readSchemas(reader, set.schemas, at('schemas')) }),
    ...(set.undecodableVersions === undefined
      ? {}
      : {
          undecodableVersions: Object.fromEntries(
            reader.map(
              set.undecodableVersions,
              at('undecodableVersions'),
              snapshotLimits.resources,
              storageVersionNameFault,
              (versions, versionsPath) => reader.read(groupVersions, versions, versionsPath),
            ),
          ),
        }),
    ...(discovery === undefined ? {} : { discovery }),
    ...(set.openapiV3 === undefined
      ? {}
      : { openapiV3: readOpenAPIV3(reader, set.openapiV3, at('openapiV3')) }),
  };
}

/** Upstream's rule for the name of a StorageVersion (pkg/apis/apiserverinternal/validation). */
function storageVersionNameFault(name: string): string | undefined {
  const parsed = parseStorageVersionName(name);
  if (parsed === undefined) return 'must be named <group>.<resource>, the legacy group written core';
  // core has become the empty group.
  if (parsed.group !== '' && !isDns1123Subdomain(parsed.group)) {
    return 'must begin with an API group, a DNS subdomain in lower case';
  }
  return isDns1035Label(parsed.resource) ? undefined : 'must end in a resource name, an RFC 1035 label';
}

function versionFault(version: string): string | undefined {
  return isDns1035Label(version) ? undefined : 'must be an API version such as v1 or v2beta1';
}

function readSubresources(
  reader: DocumentReader,
  input: unknown,
  path: string,
): NonNullable<ServedSet['subresources']> {
  const byName = reader.map(
    input,
    path,
    snapshotLimits.resources,
    storageVersionNameFault,
    (versions, versionsPath) =>
      Object.fromEntries(
        reader.map(versions, versionsPath, snapshotLimits.versions, versionFault, (names, namesPath) =>
          reader.read(subresourceNames, names, namesPath),
        ),
      ),
  );
  return Object.fromEntries(byName);
}

function readSchemas(
  reader: DocumentReader,
  input: unknown,
  path: string,
): NonNullable<ServedSet['schemas']> {
  const byName = reader.map(
    input,
    path,
    snapshotLimits.resources,
    storageVersionNameFault,
    (versions, versionsPath) =>
      Object.fromEntries(
        reader.map(versions, versionsPath, snapshotLimits.versions, versionFault, (digest, digestPath) =>
          reader.read(storageVersionHash, digest, digestPath),
        ),
      ),
  );
  return Object.fromEntries(byName);
}

function readOpenAPIV3(reader: DocumentReader, input: unknown, path: string): Record<string, string> {
  const keyFault = (key: string): string | undefined =>
    key !== '' && !key.startsWith('/') && key.length <= snapshotLimits.text && isVisibleAscii(key)
      ? undefined
      : 'must be a path without its leading slash, such as apis/batch/v1';
  return Object.fromEntries(
    reader.map(input, path, snapshotLimits.documents, keyFault, (value, valuePath) =>
      reader.read(serverRelativeURL, value, valuePath),
    ),
  );
}
