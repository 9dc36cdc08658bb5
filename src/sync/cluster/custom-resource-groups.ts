import * as v from 'valibot';
import { groupVersionString } from '../../apimachinery/group-version.ts';
import { customResourceGroup } from '../../snapshot/format/schema.ts';
import { checkedDocument } from '../documents/json-document.ts';
import { listObjectsIfServed } from '../documents/list-objects.ts';
import type { ServerDocuments } from '../documents/server-documents.ts';
import { byGroupAndVersion } from './api-services.ts';

export const customResourceDefinitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const customResourceDefinition = v.object({
  spec: v.object({
    group: v.string(),
    names: v.optional(v.object({ plural: v.optional(v.string(), ''), kind: v.optional(v.string(), '') }), {}),
    versions: v.array(
      v.object({ name: v.string(), served: v.optional(v.boolean()), storage: v.optional(v.boolean()) }),
    ),
  }),
});

export interface GroupAndVersion {
  readonly group: string;
  readonly version: string;
}

/** The parts of a CustomResourceDefinition that the sync job needs. */
export interface CustomResource {
  readonly group: string;
  /** Its plural name. */
  readonly resource: string;
  readonly kind: string;
  /** Every version, served or not. */
  readonly versions: readonly string[];
  /** The version at which it is stored; `undefined` if that is not served. */
  readonly storageVersion: string | undefined;
}

/**
 * @returns `undefined` if the server does not serve CustomResourceDefinitions
 * @throws {ReadError}
 */
export async function readCustomResources(
  documents: ServerDocuments,
  signal?: AbortSignal,
): Promise<CustomResource[] | undefined> {
  const list = await listObjectsIfServed(documents, customResourceDefinitionsPath, signal);
  return list?.items.map(customResourceOf);
}

/** @throws {ReadError} `InvalidDocument` for any other object */
export function customResourceOf(object: unknown): CustomResource {
  const { spec } = checkedDocument(customResourceDefinition, customResourceDefinitionsPath, object);
  return {
    group: spec.group,
    resource: spec.names.plural,
    kind: spec.names.kind,
    versions: spec.versions.map(({ name }) => name),
    storageVersion: spec.versions.find(({ served, storage }) => served === true && storage === true)?.name,
  };
}

/**
 * The group versions of CustomResourceDefinitions that a snapshot can hold, sorted, each once. Every version counts, served or not, as in
 * upstream's exclusion of custom resources from peer routing (peerproxy/gv_exclusion_manager.go).
 */
export function groupVersionsOfCustomResources(definitions: readonly CustomResource[]): GroupAndVersion[] {
  const groupVersions = definitions.flatMap(({ group, versions }) =>
    versions.map((version) => ({ group, version })),
  );
  const groups = new Map(
    groupVersions.map((groupVersion) => [
      groupVersionString(groupVersion.group, groupVersion.version),
      groupVersion,
    ]),
  );
  return [...groups.values()]
    .filter((groupVersion) => v.is(customResourceGroup, groupVersion))
    .sort(byGroupAndVersion);
}
