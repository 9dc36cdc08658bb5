import { groupNameOf } from '../apimachinery/group-version.ts';
import type { Snapshot } from '../snapshot/format/types.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { aggregatedDocument } from './forms/aggregated.ts';
import {
  apiGroupDocument,
  apiGroupListDocument,
  apiResourceListDocument,
  apiVersionsDocument,
} from './forms/classic.ts';
import { type DiscoveryPath, discoveryPathString } from './forms/discovery-path.ts';
import { type EncodedDocument, jsonDocument } from './forms/encoded-document.ts';
import type { DocumentForm } from './forms/negotiate-form.ts';
import { viewsOf } from './merging/discovery-view.ts';
import { type MergedDiscovery, mergeDiscovery, storageVersionHashKey } from './merging/merge-discovery.ts';
import { openApiV3Index } from './openapi-v3/openapi-v3.ts';

/** The merged documents of one snapshot, each made when it is first asked for. */
export interface MergedDocuments {
  /** Groups and conflicts; `undefined` when the snapshot holds no server's discovery. */
  readonly discovery: MergedDiscovery | undefined;
  /** Whether `get` has made this document before. */
  isMade(path: DiscoveryPath, form: DocumentForm, pretty: boolean): boolean;
  /** `undefined` when no server has the document, or it has no such form. */
  get(path: DiscoveryPath, form: DocumentForm, pretty: boolean): EncodedDocument | undefined;
}

/** By snapshot and not by table: a renewal makes a new table of the same snapshot. */
const documentsBySnapshot = new WeakMap<Snapshot, Map<string | undefined, MergedDocuments>>();

/** The merged documents of the table's snapshot, by the version that leads. They live as long as the snapshot does. */
export function mergedDocumentsOf(table: RoutingTable): MergedDocuments {
  const { snapshot, leadingMinor } = table;
  const byLeadingMinor = documentsBySnapshot.get(snapshot) ?? new Map<string | undefined, MergedDocuments>();
  const known = byLeadingMinor.get(leadingMinor);
  if (known !== undefined) return known;
  const made = mergedDocuments(table);
  documentsBySnapshot.set(snapshot, byLeadingMinor.set(leadingMinor, made));
  return made;
}

function mergedDocuments(table: RoutingTable): MergedDocuments {
  const views = viewsOf(table);
  const discovery = views.length === 0 ? undefined : mergeDiscovery(views, table.leadingMinor);
  const documents = new Map<string, EncodedDocument>();
  return {
    discovery,
    isMade: (path, form, pretty) => documents.has(keyOf(path, form, pretty)),
    get(path, form, pretty) {
      const key = keyOf(path, form, pretty);
      const known = documents.get(key);
      if (known !== undefined) return known;
      const value =
        path.kind === 'openapi-v3' ? openApiV3Index(table) : discoveryDocument(path, form, discovery);
      // Paths that do not exist are not cached: a client can ask for any number of them.
      if (value === undefined) return undefined;
      const document = jsonDocument(value, pretty);
      documents.set(key, document);
      return document;
    },
  };
}

function keyOf(path: DiscoveryPath, form: DocumentForm, pretty: boolean): string {
  return `${form} ${pretty} ${discoveryPathString(path)}`;
}

function discoveryDocument(
  path: Exclude<DiscoveryPath, { kind: 'openapi-v3' }>,
  form: DocumentForm,
  discovery: MergedDiscovery | undefined,
): object | undefined {
  if (discovery === undefined) return undefined;
  const { groups, storageVersionHashes } = discovery;
  if (path.kind === 'groups') {
    const listed = groups.filter((group) => (groupNameOf(group) === '') === path.legacy);
    const [first] = listed;
    if (path.legacy && first === undefined) return undefined;
    if (form !== 'plain') return aggregatedDocument(form, listed);
    return path.legacy && first !== undefined ? apiVersionsDocument(first) : apiGroupListDocument(listed);
  }
  const group = groups.find((each) => groupNameOf(each) === path.group);
  if (group === undefined) return undefined;
  if (path.kind === 'group') return apiGroupDocument(group);

  const version = group.versions?.find((candidate) => candidate.version === path.version);
  if (version === undefined) return undefined;
  // This form cannot say "stale", and an empty list says "nothing here": the namespace controller would then
  // leave the objects behind. The local server's aggregator responds with 503.
  const isUnknown = version.freshness === 'Stale' && (version.resources ?? []).length === 0;
  if (isUnknown) return undefined;
  return apiResourceListDocument(path.group, version, (resource) =>
    storageVersionHashes.get(storageVersionHashKey(path.group, path.version, resource)),
  );
}
