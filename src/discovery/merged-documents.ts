import { groupNameOf, storageVersionName } from '../apimachinery/group-version.ts';
import { isSameJson } from '../runtime/same-json.ts';
import { SharedWork, type Steps } from '../runtime/shared-work.ts';
import type { APIGroupDiscovery, APIVersionDiscovery, Snapshot } from '../snapshot/format/schema.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { aggregatedDocument } from './forms/aggregated.ts';
import {
  apiGroupDocument,
  apiGroupListDocument,
  apiResourceListDocument,
  apiVersionsDocument,
  resourcesOf,
} from './forms/classic.ts';
import type { DiscoveryPath } from './forms/discovery-path.ts';
import { type DocumentForm, type EncodedDocument, jsonDocument } from './forms/encoded-document.ts';
import { hasOpenApiV3Index, openApiV3Index, openApiV3UrlsOf } from './forms/openapi-v3-index.ts';
import {
  consensusOrder,
  type DiscoveryView,
  type MergedDiscovery,
  mergeSteps,
  storageVersionHashKey,
  viewsOf,
} from './merge-discovery.ts';
import { discoveryPathString, type OwnDocument, type ServersDocument } from './own-documents.ts';

type MergedDocuments = ReturnType<typeof mergedDocuments>;

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

/** The merged documents of one snapshot, each made when it is first asked for. */
function mergedDocuments(table: RoutingTable) {
  const views = viewsOf(table);
  const discovery = views.length === 0 ? undefined : new SharedWork(mergeSteps(views, table.leadingMinor));
  const ofSnapshot = new DocumentSet(openApiV3Index(table), discovery);
  /** They go when the server says something else. */
  const sets = new WeakMap<ServersDocument, SharedWork<DocumentSet | undefined>>();
  const setOf = async (own: ServersDocument): Promise<DocumentSet> => {
    const making = sets.get(own) ?? new SharedWork(currentDocuments(table, own));
    sets.set(own, making);
    return (await making.inSlices()) ?? ofSnapshot;
  };
  return {
    /** `undefined` when the snapshot holds no server's discovery. */
    discovery,
    /** True if a server has the document, by the snapshot. */
    isKnown: (path: DiscoveryPath): boolean =>
      path.kind === 'openapi-v3'
        ? hasOpenApiV3Index(table)
        : [...new Set(views.map(({ groups }) => groups))].some((groups) => lists(groups, path)),
    /**
     * @param own what a server says of itself now. Default: what the snapshot has
     * @returns `undefined` when no server has the document, or it has no such form
     */
    get: async (path: DiscoveryPath, form: DocumentForm, own?: ServersDocument) =>
      (own === undefined ? ofSnapshot : await setOf(own)).get(path, form),
  };
}

function lists(
  groups: DiscoveryView['groups'],
  path: Exclude<DiscoveryPath, { kind: 'openapi-v3' }>,
): boolean {
  if (path.kind === 'groups') return !path.legacy || groups.some((group) => groupNameOf(group) === '');
  const versions = groups.find((group) => groupNameOf(group) === path.group)?.versions ?? [];
  if (path.kind === 'group') return versions.length > 0;
  return versions.some((each) => each.version === path.version && !isUnknown(each));
}

/** @returns `undefined` where the server says what the snapshot has of it */
function* currentDocuments(table: RoutingTable, own: ServersDocument): Steps<DocumentSet | undefined> {
  if (own.says.kind === 'openapi-v3') {
    const { urls } = own.says;
    if (isSameJson(urls, openApiV3UrlsOf(table, own.serverId))) return undefined;
    return new DocumentSet(openApiV3Index(table, { serverId: own.serverId, urls }), undefined);
  }
  const views = yield* currentViews(table, own);
  if (views === undefined) return undefined;
  const merge = mergeSteps(ofGroupOf(views, own), table.leadingMinor);
  return new DocumentSet(undefined, new SharedWork(merge));
}

/** The views from which a document of one group is made: the other groups need not be merged for it. */
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
  readonly #index: SharedWork<object | undefined> | undefined;
  readonly #discovery: SharedWork<MergedDiscovery> | undefined;
  readonly #documents = new Map<string, SharedWork<EncodedDocument>>();

  constructor(
    index: Steps<object | undefined> | undefined,
    discovery: SharedWork<MergedDiscovery> | undefined,
  ) {
    this.#index = index && new SharedWork(index);
    this.#discovery = discovery;
  }

  /** `wasMade`: it was there, from an earlier request. */
  async get(path: DiscoveryPath, form: DocumentForm) {
    const key = `${form} ${discoveryPathString(path)}`;
    const known = this.#documents.get(key);
    if (known !== undefined) return { document: await known.inSlices(), wasMade: true };
    const value =
      path.kind === 'openapi-v3'
        ? await this.#index?.inSlices()
        : discoveryDocument(path, form, await this.#discovery?.inSlices());
    // Paths that do not exist are not cached: a client can ask for any number of them.
    if (value === undefined) return undefined;
    const making = this.#documents.get(key) ?? new SharedWork(jsonDocument(value));
    this.#documents.set(key, making);
    return { document: await making.inSlices(), wasMade: false };
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
  if (isUnknown(version)) return undefined;
  return apiResourceListDocument(path.group, version, (resource) =>
    storageVersionHashes.get(storageVersionHashKey(path.group, path.version, resource)),
  );
}

/** A group version that a server now describes otherwise than the snapshot has it. */
interface Change {
  readonly group: string;
  readonly version: APIVersionDiscovery;
}

/**
 * The snapshot's views, brought up to date with what one server says of itself now. `undefined` where the server says
 * what the snapshot has, so that every router that holds the snapshot makes the same documents.
 *
 * The server's list counts. Entries that the list lacks stay as the snapshot has them: old servers serve more than they
 * list, one that has just started does not list everything yet, and a client that sees a group vanish takes its objects
 * for gone. Custom resources and aggregated APIs are the same objects for all servers, so the latest word of any of
 * them counts for all that have the group version.
 */
function* currentViews(
  table: RoutingTable,
  { serverId, says }: ServersDocument,
): Steps<readonly DiscoveryView[] | undefined> {
  const views = viewsOf(table);
  const known = views.find((view) => view.serverId === serverId);
  const { version } = table.server(serverId) ?? {};
  const own = known ?? { serverId, version, groups: [], stale: false };
  const changes = yield* changesOf(table, own, says);
  if (changes.length === 0) return undefined;
  const shared = changes.filter(({ group, version: each }) => isShared(table, group, each));
  const others = new Map<DiscoveryView['groups'], DiscoveryView['groups']>();
  const current = views.map((view) => {
    if (view === known) return view;
    // Servers that serve the same go on sharing one array.
    const groups = others.get(view.groups) ?? withChanges(view.groups, shared, false);
    others.set(view.groups, groups);
    return { ...view, groups };
  });
  const updated = {
    ...own,
    groups: inOrderOf(withChanges(own.groups, changes, true), says),
    storageVersionHashes: { ...own.storageVersionHashes, ...hashesOf(says) },
    // The server has just responded.
    stale: false,
  };
  return [...current.filter((view) => view !== known), updated];
}

function* changesOf(table: RoutingTable, own: DiscoveryView, says: OwnDocument): Steps<readonly Change[]> {
  const byName = groupsByName(own.groups);
  switch (says.kind) {
    case 'groups': {
      const changes: Change[] = [];
      for (const each of says.groups) {
        const group = groupNameOf(each);
        for (const version of each.versions ?? []) {
          const before = versionOf(byName.get(group), version.version);
          if (!isSameJson(version, before)) changes.push({ group, version: withResources(version, before) });
          yield;
        }
      }
      return changes;
    }
    case 'group': {
      const { name, versions } = says.group;
      return versions.flatMap(({ version }) =>
        isListedRightly(table, name) && versionOf(byName.get(name), version) === undefined
          ? [{ group: name, version: { version, freshness: 'Current' } }]
          : [],
      );
    }
    case 'resources': {
      const { group, version, resources } = says;
      const before = versionOf(byName.get(group), version);
      const hashOf = (resource: string) => own.storageVersionHashes?.[storageVersionName(group, resource)];
      const listed = before && apiResourceListDocument(group, before, hashOf).resources;
      if (isSameJson(resources, listed)) return [];
      return [{ group, version: { version, resources: resourcesOf(resources), freshness: 'Current' } }];
    }
    case 'openapi-v3':
      return [];
  }
}

/** A server that does not know the resources of a group version at the moment says that there are none. */
function isUnknown({ freshness, resources = [] }: APIVersionDiscovery): boolean {
  return freshness === 'Stale' && resources.length === 0;
}

function withResources(
  version: APIVersionDiscovery,
  before: APIVersionDiscovery | undefined,
): APIVersionDiscovery {
  return isUnknown(version) && before?.resources !== undefined
    ? { ...version, resources: before.resources }
    : version;
}

/**
 * True if a group's versions are served where they are listed. The list is that of the APIService objects, which newer
 * servers make for themselves and older ones then list, too.
 */
function isListedRightly(
  { snapshot: { apiServices, customResourceGroups, servedSets } }: RoutingTable,
  name: string,
) {
  return (
    customResourceGroups.some(({ group }) => group === name) ||
    apiServices.some(({ group, service }) => group === name && service !== undefined) ||
    !Object.values(servedSets).some(({ discovery = [] }) =>
      discovery.some((each) => groupNameOf(each) === name),
    )
  );
}

function isShared(table: RoutingTable, group: string, { version, freshness }: APIVersionDiscovery): boolean {
  if (freshness === 'Stale') return false;
  return table.isCustomResource(group, version) || table.extension(group, version) !== undefined;
}

function groupsByName(groups: readonly APIGroupDiscovery[]): ReadonlyMap<string, APIGroupDiscovery> {
  return new Map(groups.map((group) => [groupNameOf(group), group]));
}

function versionOf(group: APIGroupDiscovery | undefined, version: string): APIVersionDiscovery | undefined {
  return group?.versions?.find((each) => each.version === version);
}

/** @param adds whether what the groups lack is added; else only what they have is replaced */
function withChanges(
  groups: readonly APIGroupDiscovery[],
  changes: readonly Change[],
  adds: boolean,
): readonly APIGroupDiscovery[] {
  const byGroup = Map.groupBy(changes, ({ group }) => group);
  const changed = groups.map((group) => {
    const those = byGroup.get(groupNameOf(group));
    if (those === undefined) return group;
    const versions = new Map((group.versions ?? []).map((each) => [each.version, each]));
    for (const { version } of those) {
      if (adds || versions.has(version.version)) versions.set(version.version, version);
    }
    return { ...group, versions: [...versions.values()] };
  });
  if (!adds) return changed.every((group, index) => group === groups[index]) ? groups : changed;
  const known = new Set(groups.map(groupNameOf));
  const added = [...byGroup].filter(([name]) => !known.has(name));
  return [
    ...changed,
    ...added.map(([name, those]) => ({
      metadata: name === '' ? {} : { name },
      versions: those.map(({ version }) => version),
    })),
  ];
}

/** Groups and versions where the server has put them; what it does not list follows its neighbour. */
function inOrderOf(groups: readonly APIGroupDiscovery[], says: OwnDocument): readonly APIGroupDiscovery[] {
  if (says.kind !== 'groups') return groups;
  const [own, listed] = [groupsByName(groups), groupsByName(says.groups)];
  return consensusOrder([[...listed.keys()], [...own.keys()]]).flatMap((name) => {
    const [group, first] = [own.get(name), listed.get(name)];
    if (group === undefined || first === undefined) return group ?? [];
    const versions = consensusOrder([namesOf(first), namesOf(group)]);
    return { ...group, versions: versions.flatMap((each) => versionOf(group, each) ?? []) };
  });
}

function namesOf({ versions = [] }: APIGroupDiscovery): string[] {
  return versions.map(({ version }) => version);
}

function hashesOf(says: OwnDocument): Readonly<Record<string, string>> {
  if (says.kind !== 'resources') return {};
  const { group, resources } = says;
  return Object.fromEntries(
    resources.flatMap(({ name, storageVersionHash }) =>
      storageVersionHash === undefined
        ? []
        : [[storageVersionName(group, name), storageVersionHash] as const],
    ),
  );
}
