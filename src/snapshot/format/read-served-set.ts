import { parseStorageVersionName } from '../../apimachinery/group-version.ts';
import type { TimeSlice } from '../../runtime/time-slice.ts';
import { isDns1035Label, isDns1123Subdomain, isVisibleAscii } from '../addresses/names.ts';
import type { DocumentReader, Read } from './document-reader.ts';
import { fieldPath } from './issues.ts';
import { isJsonObject } from './json-text.ts';
import { snapshotLimits } from './limits.ts';
import type { ReadDiscovery } from './read-discovery.ts';
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
  readDiscovery: ReadDiscovery,
  slice: TimeSlice,
): Promise<ServedSet | undefined> {
  const given = isJsonObject(input) ? input['discovery'] : undefined;
  const discovery =
    given === undefined ? undefined : await readDiscovery(given, fieldPath(path, 'discovery'));
  await slice.rest();

  const readHash = reader.value(storageVersionHash);
  /** By resource, as `storageVersionName` writes it. */
  const byResource = <Value>(readValue: Read<Value>) =>
    reader.record(snapshotLimits.resources, storageVersionNameIssue, readValue);
  /** By resource, then by API version. */
  const byResourceAndVersion = <Value>(readValue: Read<Value>) =>
    byResource(reader.record(snapshotLimits.versions, versionIssue, readValue));
  const readSet = reader.object(
    { storageVersions: byResource(reader.value(servedVersions)) },
    {
      subresources: byResourceAndVersion(reader.value(subresourceNames)),
      storageVersionHashes: byResource(readHash),
      schemas: byResourceAndVersion(readHash),
      undecodableVersions: byResource(reader.value(groupVersions)),
      discovery: () => discovery,
      openapiV3: reader.record(snapshotLimits.documents, documentPathIssue, reader.value(serverRelativeURL)),
    },
  );
  return readSet(input, path);
}

/** Upstream's rule for the name of a StorageVersion (pkg/apis/apiserverinternal/validation). */
export function storageVersionNameIssue(name: string): string | undefined {
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

/** The error of a path in an OpenAPI v3 index. */
export function documentPathIssue(path: string): string | undefined {
  return path !== '' && !path.startsWith('/') && path.length <= snapshotLimits.text && isVisibleAscii(path)
    ? undefined
    : 'must be a path without its leading slash, such as apis/batch/v1';
}
