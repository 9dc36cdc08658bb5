import * as v from 'valibot';
import { groupVersionString } from '../../apimachinery/group-version.ts';
import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APISubresourceDiscovery,
  APIVersionDiscovery,
  GroupVersionKind,
} from '../../snapshot/format/schema.ts';
import { groupName, versionName } from '../../snapshot/format/schema.ts';
import { listField, nonEmptyString, optionalField, parseDocument } from './parse-document.ts';

/**
 * `/api`. No server address is given: the field has to be there, but the true ones are the servers' internal
 * addresses, no one address is every router's, and no client of ours reads it (client-go and kubectl take
 * `versions` only).
 */
export function apiVersionsDocument({ versions = [] }: APIGroupDiscovery) {
  return {
    kind: 'APIVersions',
    versions: versions.map(({ version }) => version),
    serverAddressByClientCIDRs: [],
  };
}

/** `/apis`. Groups without a version cannot be written in this form and are left out. */
export function apiGroupListDocument(groups: readonly APIGroupDiscovery[]) {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.flatMap((group) => apiGroup(group) ?? []) };
}

/** `/apis/<group>`; `undefined` for a group without a version. */
export function apiGroupDocument(group: APIGroupDiscovery): object | undefined {
  const document = apiGroup(group);
  return document && { kind: 'APIGroup', apiVersion: 'v1', ...document };
}

/**
 * `/apis/<group>/<version>` and `/api/<version>`, each subresource after its resource.
 *
 * @param storageVersionHashOf by resource; `undefined` for what is not stored
 */
export function apiResourceListDocument(
  group: string,
  version: APIVersionDiscovery,
  storageVersionHashOf: (resource: string) => string | undefined = () => undefined,
) {
  const groupVersion: GroupVersion = { group, version: version.version };
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: groupVersionString(group, version.version),
    resources: (version.resources ?? []).flatMap((resource) =>
      apiResources(resource, groupVersion, storageVersionHashOf(resource.resource)),
    ),
  };
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

function apiGroup({ metadata, versions = [] }: APIGroupDiscovery) {
  const { name = '' } = metadata;
  // As client-go derives it from the aggregated form (discovery/aggregated_discovery.go).
  const preferred = versions.find(({ freshness }) => freshness !== 'Stale') ?? versions[0];
  if (preferred === undefined) return undefined;
  return {
    name,
    versions: versions.map(({ version }) => groupVersionForDiscovery(name, version)),
    preferredVersion: groupVersionForDiscovery(name, preferred.version),
  };
}

function groupVersionForDiscovery(group: string, version: string) {
  return { groupVersion: groupVersionString(group, version), version };
}

function apiResources(
  discovery: APIResourceDiscovery,
  groupVersion: GroupVersion,
  storageVersionHash: string | undefined,
) {
  const { resource, responseKind, singularResource = '', scope, verbs = [] } = discovery;
  const { shortNames = [], categories = [], subresources = [] } = discovery;
  const namespaced = scope === 'Namespaced';
  const below = subresources.map((subresource) =>
    apiSubresource(resource, namespaced, subresource, groupVersion),
  );
  // A parent without a kind is there only for its subresources; this form lists those alone.
  if (responseKind?.kind === undefined || responseKind.kind === '') return below;
  return [
    {
      name: resource,
      singularName: singularResource,
      namespaced,
      ...kindFields(responseKind, groupVersion),
      verbs,
      ...(shortNames.length === 0 ? {} : { shortNames }),
      ...(categories.length === 0 ? {} : { categories }),
      ...(storageVersionHash === undefined ? {} : { storageVersionHash }),
    },
    ...below,
  ];
}

function apiSubresource(
  resource: string,
  namespaced: boolean,
  { subresource, responseKind, verbs = [] }: APISubresourceDiscovery,
  groupVersion: GroupVersion,
) {
  return {
    name: `${resource}/${subresource}`,
    singularName: '',
    namespaced,
    ...kindFields(responseKind, groupVersion),
    verbs,
  };
}

/** Group and version are written only where the kind is not of the list's own group version. */
function kindFields({ group = '', version = '', kind = '' }: GroupVersionKind = {}, list: GroupVersion) {
  const isOwn = (group === '' || group === list.group) && (version === '' || version === list.version);
  if (isOwn) return { kind };
  return { ...(group === '' ? {} : { group }), ...(version === '' ? {} : { version }), kind };
}

const apiVersions = v.object({ versions: listField(versionName) });

const apiGroupFields = v.object({
  name: v.pipe(groupName, nonEmptyString),
  versions: listField(v.object({ version: versionName })),
});

const apiGroupList = v.object({ groups: listField(apiGroupFields) });

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

/** The parts of classic documents that are used, by kind. */
const documents = {
  APIVersions: apiVersions,
  APIGroupList: apiGroupList,
  APIGroup: apiGroupFields,
  APIResourceList: apiResourceList,
};
type ClassicKind = keyof typeof documents;
export type Classic<Kind extends ClassicKind> = v.InferOutput<(typeof documents)[Kind]>;

/** @throws {DiscoveryDocumentError} when it is none of that kind */
export function parseClassic<Kind extends ClassicKind>(kind: Kind, document: unknown): Classic<Kind> {
  return parseDocument(kind, documents[kind], document);
}

/** The classic documents of one server. */
export interface ClassicDiscovery {
  /** `/api`; left out when the server has none. */
  readonly apiVersions?: Classic<'APIVersions'> | undefined;
  /** `/apis`. */
  readonly apiGroupList: Classic<'APIGroupList'>;
  /** By group version (`v1`, `batch/v1`): the lists whose response was 200, and no others. */
  readonly apiResourceLists: ReadonlyMap<string, Classic<'APIResourceList'>>;
  /** Group versions whose list the server has but could not give, as for a 503 of its aggregator. */
  readonly unavailable?: ReadonlySet<string> | undefined;
}

/**
 * The aggregated form of what a server says in the classic one, the legacy group first.
 *
 * `/apis` alone proves nothing: it is made of the APIService objects that all servers of a cluster share, so
 * it lists group versions to which this server responds with 404. What counts is the list of each group version.
 * One that is `unavailable` is there without its resources, marked Stale, as newer servers write it.
 */
export function groupsFromClassic(classic: ClassicDiscovery): APIGroupDiscovery[] {
  const { apiVersions, apiGroupList } = classic;
  const groups: APIGroupDiscovery[] = [];
  const legacyVersions = versionsOf('', apiVersions?.versions ?? [], classic);
  if (legacyVersions.length > 0) groups.push({ metadata: {}, versions: legacyVersions });
  for (const { name, versions: listed } of apiGroupList.groups) {
    const versions = versionsOf(
      name,
      listed.map(({ version }) => version),
      classic,
    );
    if (versions.length > 0) groups.push({ metadata: { name }, versions });
  }
  return groups;
}

function versionsOf(
  group: string,
  listed: readonly string[],
  { apiResourceLists, unavailable }: ClassicDiscovery,
): APIVersionDiscovery[] {
  const versions: APIVersionDiscovery[] = [];
  for (const version of listed) {
    const groupVersion = groupVersionString(group, version);
    const list = apiResourceLists.get(groupVersion);
    if (list !== undefined) versions.push({ version, resources: resourcesOf(list.resources) });
    else if (unavailable?.has(groupVersion) === true) versions.push({ version, freshness: 'Stale' });
  }
  return versions;
}

type ClassicResource = Classic<'APIResourceList'>['resources'][number];

/** Subresources move under their resource, which k8s.io/apiserver's endpoints/installer.go does alike. */
export function resourcesOf(listed: readonly ClassicResource[]): APIResourceDiscovery[] {
  const resources = new Map<
    string,
    { resource: APIResourceDiscovery; subresources: APISubresourceDiscovery[] }
  >();
  for (const given of listed) {
    if (given.name.includes('/') || resources.has(given.name)) continue;
    resources.set(given.name, { resource: resourceOf(given), subresources: [] });
  }
  for (const given of listed) {
    const slash = given.name.indexOf('/');
    if (slash === -1) continue;
    const parent = given.name.slice(0, slash);
    const entry = resources.get(parent) ?? { resource: parentOf(parent, given), subresources: [] };
    entry.subresources.push(subresourceOf(given.name.slice(slash + 1), given));
    resources.set(parent, entry);
  }
  return [...resources.values()].map(({ resource, subresources }) =>
    subresources.length === 0 ? resource : { ...resource, subresources },
  );
}

function resourceOf(given: ClassicResource): APIResourceDiscovery {
  const { shortNames = [], categories = [] } = given;
  return {
    resource: given.name,
    responseKind: kindOf(given),
    scope: scopeOf(given),
    singularResource: given.singularName ?? '',
    verbs: given.verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  };
}

/** A resource that is listed only through its subresources: without a kind, so that no client takes it for one. */
function parentOf(resource: string, subresource: ClassicResource): APIResourceDiscovery {
  return {
    resource,
    // Present though empty: client-go 0.26.0 to 0.26.3 panic without (kubernetes/kubernetes#118361).
    responseKind: { group: '', version: '', kind: '' },
    scope: scopeOf(subresource),
    singularResource: '',
    verbs: [],
  };
}

function subresourceOf(subresource: string, given: ClassicResource): APISubresourceDiscovery {
  return {
    subresource,
    ...(given.kind === '' ? {} : { responseKind: kindOf(given) }),
    verbs: given.verbs,
  };
}

function kindOf({ group = '', version = '', kind }: ClassicResource) {
  return { group, version, kind };
}

function scopeOf({ namespaced }: ClassicResource): 'Namespaced' | 'Cluster' {
  return namespaced ? 'Namespaced' : 'Cluster';
}
