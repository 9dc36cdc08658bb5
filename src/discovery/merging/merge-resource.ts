import type {
  APIResourceDiscovery,
  APISubresourceDiscovery,
  GroupVersionKind,
} from '../../apimachinery/discovery-types.ts';
import { groupVersionString } from '../../apimachinery/group-version.ts';
import { byName, type Contribution } from './contribution.ts';

/** Servers describe one thing in ways that exclude each other. The leading server's description is shown. */
export interface DiscoveryConflict {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Empty when it is about the resource itself. */
  readonly subresource: string;
  readonly field: 'kind' | 'scope';
  /** The descriptions and who gives them, the leading server's first. A kind reads `apps/v1, Kind=Scale`. */
  readonly claims: readonly { readonly value: string; readonly serverIds: readonly string[] }[];
}

const none: readonly never[] = [];

/** Where the merged thing stands, and where conflicts are reported. */
interface MergeContext {
  readonly group: string;
  readonly version: string;
  readonly conflicts: DiscoveryConflict[];
}

/**
 * What several servers serve of one resource of one group version: verbs and subresources of all of them,
 * everything else as the leading one describes it.
 *
 * @param contributions at least one, the leading one first
 */
export function mergeResource(
  contributions: readonly Contribution<APIResourceDiscovery>[],
  leading: APIResourceDiscovery,
  context: MergeContext,
): APIResourceDiscovery {
  // Nearly all servers describe nearly everything alike: then there is nothing to build.
  if (contributions.every(({ item }) => isSameResource(item, leading))) return leading;
  const { resource } = leading;
  reportConflict(contributions, 'kind', resource, '', context);
  reportConflict(contributions, 'scope', resource, '', context);

  const subresources = byName(
    contributions.map(({ source, item }) => ({ source, item: item.subresources ?? [] })),
    ({ subresource }) => subresource,
  ).flatMap(([, named]) => mergeSubresource(named, resource, context));
  const responseKind = kindOf(contributions);
  return {
    ...leading,
    ...(responseKind === undefined ? {} : { responseKind }),
    ...unitedVerbs(contributions),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

function mergeSubresource(
  contributions: readonly Contribution<APISubresourceDiscovery>[],
  resource: string,
  context: MergeContext,
): APISubresourceDiscovery[] {
  const leading = contributions[0]?.item;
  if (leading === undefined) return [];
  if (contributions.every(({ item }) => isAlike(item, leading))) return [leading];
  reportConflict(contributions, 'kind', resource, leading.subresource, context);
  const responseKind = kindOf(contributions);
  return [
    {
      ...leading,
      ...(responseKind === undefined ? {} : { responseKind }),
      ...unitedVerbs(contributions),
    },
  ];
}

interface Described {
  readonly responseKind?: GroupVersionKind | undefined;
  readonly scope?: string | undefined;
  readonly verbs?: readonly string[] | undefined;
}

/** Whether two servers describe a resource and its subresources alike. */
function isSameResource(one: APIResourceDiscovery, other: APIResourceDiscovery): boolean {
  if (one === other) return true;
  const [below = none, otherBelow = none] = [one.subresources, other.subresources];
  return (
    isAlike(one, other) &&
    below.length === otherBelow.length &&
    below.every((subresource, index) => {
      const counterpart = otherBelow[index];
      return subresource.subresource === counterpart?.subresource && isAlike(subresource, counterpart);
    })
  );
}

function isAlike(one: Described, other: Described): boolean {
  if (one === other) return true;
  const [kind, otherKind] = [one.responseKind, other.responseKind];
  return (
    kind?.kind === otherKind?.kind &&
    kind?.group === otherKind?.group &&
    kind?.version === otherKind?.version &&
    one.scope === other.scope &&
    isSameList(one.verbs ?? none, other.verbs ?? none)
  );
}

/** A list that all agree on stays as it is; else all verbs, sorted (upstream peer_aggregated_handler.go). */
function unitedVerbs(contributions: readonly Contribution<Described>[]): Pick<Described, 'verbs'> {
  const lists = contributions.map(({ item }) => item.verbs ?? []);
  const [leading = [], ...others] = lists;
  const agreed = others.every((verbs) => isSameList(verbs, leading));
  return agreed ? {} : { verbs: [...new Set(lists.flat())].sort() };
}

/** A server may list a parent without a kind, only to hang subresources on; another one may know it. */
function kindOf(contributions: readonly Contribution<Described>[]): GroupVersionKind | undefined {
  return (contributions.find(({ item }) => hasKind(item)) ?? contributions[0])?.item.responseKind;
}

function hasKind({ responseKind }: Described): boolean {
  return responseKind?.kind !== undefined && responseKind.kind !== '';
}

function reportConflict(
  contributions: readonly Contribution<Described>[],
  field: DiscoveryConflict['field'],
  resource: string,
  subresource: string,
  { group, version, conflicts }: MergeContext,
): void {
  const claims = new Map<string, string[]>();
  for (const { source, item } of contributions) {
    const value = field === 'kind' ? describeKind(item, group, version) : item.scope;
    if (value === undefined) continue;
    const serverIds = claims.get(value);
    if (serverIds === undefined) claims.set(value, [...source.serverIds]);
    else serverIds.push(...source.serverIds);
  }
  if (claims.size < 2) return;
  conflicts.push({
    group,
    version,
    resource,
    subresource,
    field,
    claims: [...claims].map(([value, serverIds]) => ({ value, serverIds })),
  });
}

/** An empty group or version means that of the list (k8s.io/apimachinery meta/v1/types.go, APIResource). */
function describeKind(item: Described, group: string, version: string): string | undefined {
  if (!hasKind(item)) return undefined;
  const { group: kindGroup, version: kindVersion, kind } = item.responseKind ?? {};
  return `${groupVersionString(kindGroup || group, kindVersion || version)}, Kind=${kind}`;
}

/** Whether two lists hold the same strings in the same order. */
export function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((entry, index) => entry === other[index]);
}
