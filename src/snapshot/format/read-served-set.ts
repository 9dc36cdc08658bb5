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

/** One entry of `servedSets`. What comes back is whole only if no errors were added. */
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
        storageVersionNameIssue,
        (value, valuePath) => reader.read(servedVersions, value, valuePath),
      ),
    ),
    ...(set.subresources === undefined
      ? {}
      : {
          subresources: readByResourceAndVersion(
            reader,
            set.subresources,
            at('subresources'),
            (names, path) => reader.read(subresourceNames, names, path),
          ),
        }),
    ...(set.storageVersionHashes === undefined
      ? {}
      : {
          storageVersionHashes: readByResource(
            reader,
            set.storageVersionHashes,
            at('storageVersionHashes'),
            (hash, path) => reader.read(storageVersionHash, hash, path),
          ),
        }),
    ...(set.schemas === undefined
      ? {}
      : {
          schemas: readByResourceAndVersion(reader, set.schemas, at('schemas'), (digest, path) =>
            reader.read(storageVersionHash, digest, path),
          ),
        }),
    ...(set.undecodableVersions === undefined
      ? {}
      : {
          undecodableVersions: readByResource(
            reader,
            set.undecodableVersions,
            at('undecodableVersions'),
            (versions, path) => reader.read(groupVersions, versions, path),
          ),
        }),
    ...(discovery === undefined ? {} : { discovery }),
    ...(set.openapiV3 === undefined
      ? {}
      : { openapiV3: readOpenAPIV3(reader, set.openapiV3, at('openapiV3')) }),
  };
}

/** Upstream's rule for the name of a StorageVersion (pkg/apis/apiserverinternal/validation). */
function storageVersionNameIssue(name: string): string | undefined {
  const parsed = parseStorageVersionName(name);
  if (parsed === undefined) return 'must be named <group>.<resource>, the legacy group written core';
  // core has become the empty group.
  if (parsed.group !== '' && !isDns1123Subdomain(parsed.group)) {
    return 'must begin with an API group, a DNS subdomain in lower case';
  }
  return isDns1035Label(parsed.resource) ? undefined : 'must end in a resource name, an RFC 1035 label';
}

function versionIssue(version: string): string | undefined {
  return isDns1035Label(version) ? undefined : 'must be an API version such as v1 or v2beta1';
}

type ReadValue<Value> = (value: unknown, path: string) => Value | undefined;

/** By resource, as `storageVersionName` writes it. */
function readByResource<Value>(
  reader: DocumentReader,
  input: unknown,
  path: string,
  readValue: ReadValue<Value>,
): Record<string, Value> {
  return Object.fromEntries(
    reader.map(input, path, snapshotLimits.resources, storageVersionNameIssue, readValue),
  );
}

/** By resource, then by API version. */
function readByResourceAndVersion<Value>(
  reader: DocumentReader,
  input: unknown,
  path: string,
  readValue: ReadValue<Value>,
): Record<string, Record<string, Value>> {
  return readByResource(reader, input, path, (versions, versionsPath) =>
    Object.fromEntries(reader.map(versions, versionsPath, snapshotLimits.versions, versionIssue, readValue)),
  );
}

function readOpenAPIV3(reader: DocumentReader, input: unknown, path: string): Record<string, string> {
  const keyIssue = (key: string): string | undefined =>
    key !== '' && !key.startsWith('/') && key.length <= snapshotLimits.text && isVisibleAscii(key)
      ? undefined
      : 'must be a path without its leading slash, such as apis/batch/v1';
  return Object.fromEntries(
    reader.map(input, path, snapshotLimits.documents, keyIssue, (value, valuePath) =>
      reader.read(serverRelativeURL, value, valuePath),
    ),
  );
}
