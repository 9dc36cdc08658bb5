import { groupNameOf } from '../apimachinery/group-version.ts';
import { isSameJson } from '../runtime/canonical-json.ts';
import type { Snapshot } from '../snapshot/format/types.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { currentViews } from './current-views.ts';
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
import { type DiscoveryView, viewsOf } from './merging/discovery-view.ts';
import { type MergedDiscovery, mergeDiscovery, storageVersionHashKey } from './merging/merge-discovery.ts';
import { openApiV3Index, openApiV3UrlsOf } from './openapi-v3/openapi-v3.ts';
import type { ServersDocument } from './own-documents.ts';

/** The merged documents of one snapshot, each made when it is first asked for. */
interface MergedDocuments {
  /** Groups and conflicts; `undefined` when the snapshot holds no server's discovery. */
  readonly discovery: MergedDiscovery | undefined;
  /**
   * @param own what a server says of itself now. Default: what the snapshot has
   * @returns `undefined` when no server has the document, or it has no such form
   */
  get(
    path: DiscoveryPath,
    form: DocumentForm,
    pretty: boolean,
    own?: ServersDocument,
  ): MergedDocument | undefined;
}

interface MergedDocument {
  readonly document: EncodedDocument;
  /** It was there, from an earlier request or made ahead. */
  readonly wasMade: boolean;
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
  const ofSnapshot = new DocumentSet((path, form) =>
    path.kind === 'openapi-v3' ? openApiV3Index(table) : discoveryDocument(path, form, discovery),
  );
  /** They go when the server says something else. */
  const sets = new WeakMap<ServersDocument, DocumentSet>();
  const setOf = (own: ServersDocument): DocumentSet => {
    const known = sets.get(own);
    if (known !== undefined) return known;
    const made = currentDocuments(table, own) ?? ofSnapshot;
    sets.set(own, made);
    return made;
  };
  return {
    discovery,
    get: (path, form, pretty, own) => (own === undefined ? ofSnapshot : setOf(own)).get(path, form, pretty),
  };
}

/** @returns `undefined` where the server says what the snapshot has of it */
function currentDocuments(table: RoutingTable, own: ServersDocument): DocumentSet | undefined {
  if (own.says.kind === 'openapi-v3') {
    const { urls } = own.says;
    if (isSameJson(urls, openApiV3UrlsOf(table, own.serverId))) return undefined;
    const index = openApiV3Index(table, { serverId: own.serverId, urls });
    return new DocumentSet(() => index);
  }
  const views = currentViews(table, own);
  if (views === undefined) return undefined;
  const discovery = mergeDiscovery(ofGroupOf(views, own), table.leadingMinor);
  return new DocumentSet((path, form) =>
    path.kind === 'openapi-v3' ? undefined : discoveryDocument(path, form, discovery),
  );
}

/** What a document of one group is made of: the others need not be merged for it. */
function ofGroupOf(views: readonly DiscoveryView[], { says }: ServersDocument): readonly DiscoveryView[] {
  if (says.kind !== 'group' && says.kind !== 'resources') return views;
  const name = says.kind === 'group' ? says.group.name : says.group;
  const known = new Map<DiscoveryView['groups'], DiscoveryView['groups']>();
  return views.map((view) => {
    const groups = known.get(view.groups) ?? view.groups.filter((group) => groupNameOf(group) === name);
    known.set(view.groups, groups);
    return { ...view, groups };
  });
}

class DocumentSet {
  readonly #make: (path: DiscoveryPath, form: DocumentForm) => object | undefined;
  readonly #documents = new Map<string, EncodedDocument>();

  constructor(make: (path: DiscoveryPath, form: DocumentForm) => object | undefined) {
    this.#make = make;
  }

  get(path: DiscoveryPath, form: DocumentForm, pretty: boolean): MergedDocument | undefined {
    const key = `${form} ${pretty} ${discoveryPathString(path)}`;
    const known = this.#documents.get(key);
    if (known !== undefined) return { document: known, wasMade: true };
    const value = this.#make(path, form);
    // Paths that do not exist are not cached: a client can ask for any number of them.
    if (value === undefined) return undefined;
    const document = jsonDocument(value, pretty);
    this.#documents.set(key, document);
    return { document, wasMade: false };
  }
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
