import * as v from 'valibot';
import { groupVersionString } from '../apimachinery/group-version.ts';
import { byGroupAndVersion } from './api-services.ts';
import type { ServerDocuments } from './document-reader.ts';
import { checkedDocument } from './json-document.ts';
import { listObjects } from './list-objects.ts';

export const customResourceDefinitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const customResourceDefinition = v.object({
  spec: v.object({ group: v.string(), versions: v.array(v.object({ name: v.string() })) }),
});

export interface GroupAndVersion {
  readonly group: string;
  readonly version: string;
}

/**
 * Reads the group versions that CustomResourceDefinitions define. Every version counts, served or not, as in
 * upstream's exclusion of custom resources from peer routing (peerproxy/gv_exclusion_manager.go).
 *
 * @returns sorted, each once
 * @throws {ReadError}
 */
export async function readCustomResourceGroups(
  documents: ServerDocuments,
  signal?: AbortSignal,
): Promise<GroupAndVersion[]> {
  const objects = await listObjects(documents, customResourceDefinitionsPath, signal);
  return eachOnce(objects.flatMap(definedVersions));
}

/** The group versions of one CustomResourceDefinition. @throws {ReadError} `InvalidDocument` for what is none */
export function definedVersions(object: unknown): GroupAndVersion[] {
  const { spec } = checkedDocument(customResourceDefinition, customResourceDefinitionsPath, object);
  return spec.versions.map(({ name }) => ({ group: spec.group, version: name }));
}

/** Sorted, each once: several definitions share a group version. */
export function eachOnce(groupVersions: readonly GroupAndVersion[]): GroupAndVersion[] {
  const groups = new Map(
    groupVersions.map((groupVersion) => [
      groupVersionString(groupVersion.group, groupVersion.version),
      groupVersion,
    ]),
  );
  return [...groups.values()].sort(byGroupAndVersion);
}
