import * as v from 'valibot';
import {
  groupName,
  listField,
  nonEmptyString,
  optionalField,
  parseDocument,
  versionName,
} from './parse-document.ts';

const apiVersions = v.object({ versions: listField(versionName) });

const apiGroupList = v.object({
  groups: listField(
    v.object({
      name: v.pipe(groupName, v.nonEmpty('must not be empty')),
      versions: listField(v.object({ version: versionName })),
    }),
  ),
});

const apiResourceList = v.object({
  groupVersion: nonEmptyString,
  resources: listField(
    v.object({
      name: nonEmptyString,
      singularName: optionalField(v.string()),
      namespaced: v.boolean(),
      group: optionalField(v.string()),
      version: optionalField(v.string()),
      kind: v.string(),
      verbs: listField(v.string()),
      shortNames: optionalField(v.array(v.string())),
      categories: optionalField(v.array(v.string())),
      storageVersionHash: optionalField(v.string()),
    }),
  ),
});

/** What is used of `/api`. */
export type ParsedAPIVersions = v.InferOutput<typeof apiVersions>;
/** What is used of `/apis`. */
export type ParsedAPIGroupList = v.InferOutput<typeof apiGroupList>;
/** What is used of `/apis/<group>/<version>` and `/api/<version>`. */
export type ParsedAPIResourceList = v.InferOutput<typeof apiResourceList>;

/** @throws {DiscoveryDocumentError} when it is no `APIVersions`. */
export function parseAPIVersions(document: unknown): ParsedAPIVersions {
  return parseDocument('APIVersions', apiVersions, document);
}

/** @throws {DiscoveryDocumentError} when it is no `APIGroupList`. */
export function parseAPIGroupList(document: unknown): ParsedAPIGroupList {
  return parseDocument('APIGroupList', apiGroupList, document);
}

/** @throws {DiscoveryDocumentError} when it is no `APIResourceList`. */
export function parseAPIResourceList(document: unknown): ParsedAPIResourceList {
  return parseDocument('APIResourceList', apiResourceList, document);
}
