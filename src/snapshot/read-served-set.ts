import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APIVersionDiscovery,
} from '../apimachinery/discovery-types.ts';
import { parseStorageVersionName } from '../apimachinery/group-version.ts';
import type { DocumentReader } from './document-reader.ts';
import { fieldPath } from './issues.ts';
import { snapshotLimits } from './limits.ts';
import { isDns1035Label, isDns1123Subdomain, isVisibleAscii } from './names.ts';
import {
  freshness,
  groupMetadata,
  resourceDiscovery,
  servedVersions,
  serverRelativeURL,
  subresourceNames,
} from './schema.ts';
import { versionName } from './schema-parts.ts';
import type { ServedSet } from './types.ts';

/** One entry of `servedSets`. What comes back is whole only if no faults were added. */
export function readServedSet(reader: DocumentReader, input: unknown, path: string): ServedSet | undefined {
  const set = reader.members(input, path, ['storageVersions', 'subresources', 'discovery', 'openapiV3']);
  if (set === undefined) return undefined;
  const at = (key: string): string => fieldPath(path, key);
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
    ...(set.discovery === undefined
      ? {}
      : { discovery: readDiscovery(reader, set.discovery, at('discovery')) }),
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

function readDiscovery(reader: DocumentReader, input: unknown, path: string): APIGroupDiscovery[] {
  return reader
    .list(input, path, snapshotLimits.groups, (group, groupPath) => readGroup(reader, group, groupPath))
    .map(({ item }) => item);
}

function readGroup(reader: DocumentReader, input: unknown, path: string): APIGroupDiscovery | undefined {
  const group = reader.members(input, path, ['metadata', 'versions']);
  if (group === undefined) return undefined;
  const metadata = reader.read(groupMetadata, group.metadata, fieldPath(path, 'metadata'));
  if (group.versions === undefined) return metadata && { metadata };
  const versions = reader
    .list(group.versions, fieldPath(path, 'versions'), snapshotLimits.versions, (version, versionPath) =>
      readVersion(reader, version, versionPath),
    )
    .map(({ item }) => item);
  return metadata && { metadata, versions };
}

function readVersion(reader: DocumentReader, input: unknown, path: string): APIVersionDiscovery | undefined {
  const fields = reader.members(input, path, ['version', 'resources', 'freshness']);
  if (fields === undefined) return undefined;
  const version = reader.read(versionName, fields.version, fieldPath(path, 'version'));
  const fresh = reader.read(freshness, fields.freshness, fieldPath(path, 'freshness'));
  const resources: APIResourceDiscovery[] | undefined =
    fields.resources === undefined
      ? undefined
      : reader
          .list(fields.resources, fieldPath(path, 'resources'), snapshotLimits.resources, (resource, at) =>
            reader.read(resourceDiscovery, resource, at),
          )
          .map(({ item }) => item);
  if (version === undefined) return undefined;
  return {
    version,
    ...(resources === undefined ? {} : { resources }),
    ...(fresh === undefined ? {} : { freshness: fresh }),
  };
}
