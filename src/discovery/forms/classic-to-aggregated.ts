import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APISubresourceDiscovery,
  APIVersionDiscovery,
} from '../../apimachinery/discovery-types.ts';
import { groupVersionString } from '../../apimachinery/group-version.ts';
import type { ParsedAPIGroupList, ParsedAPIResourceList, ParsedAPIVersions } from './classic.ts';

/** The classic documents of one server. */
export interface ClassicDiscovery {
  /** `/api`; left out when the server has none. */
  readonly apiVersions?: ParsedAPIVersions | undefined;
  /** `/apis`. */
  readonly apiGroupList: ParsedAPIGroupList;
  /** By group version (`v1`, `batch/v1`): the lists whose response was 200, and no others. */
  readonly apiResourceLists: ReadonlyMap<string, ParsedAPIResourceList>;
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

type ClassicResource = ParsedAPIResourceList['resources'][number];

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
