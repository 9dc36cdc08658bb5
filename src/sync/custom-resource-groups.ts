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
  const groups = new Map<string, GroupAndVersion>();
  for (const object of await listObjects(documents, customResourceDefinitionsPath, signal)) {
    const { spec } = checkedDocument(customResourceDefinition, customResourceDefinitionsPath, object);
    for (const { name } of spec.versions) {
      groups.set(groupVersionString(spec.group, name), { group: spec.group, version: name });
    }
  }
  return [...groups.values()].sort(byGroupAndVersion);
}
