import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { policiesOf } from '../snapshot/routing-table/served-by.ts';
import type { DecisionContext } from './decision.ts';
import { comingPreference, defaultPreferredVersion, preferredMinor } from './preferred-version.ts';

/** The API group of all kinds of admission policies. */
const policyGroup = 'admissionregistration.k8s.io';

const storingVerbs: ReadonlySet<string> = new Set(['create', 'update', 'patch']);

/** When a policy acts, by the setting that decides which version is preferred. */
const actsFrom: Readonly<Record<string, string>> = {
  majority: 'once most API servers know it',
  oldest: 'once all API servers know it',
};

/**
 * The Warning header about a policy that is stored and does not act: while versions differ every write goes to servers of
 * the preferred version, and none of these knows the kind of the policy. Kubernetes' own servers would enforce it by
 * chance. `undefined`: it acts, or the request stores no policy. Pure.
 * @returns a value for the header (RFC 7234 section 5.5, KEP-1693)
 */
export function policyWarning(
  { verb, apiGroup, resource, subresource }: RequestInfo,
  table: RoutingTable,
  { now, preferredVersion = defaultPreferredVersion }: Pick<DecisionContext, 'now' | 'preferredVersion'>,
): string | undefined {
  if (apiGroup !== policyGroup || !storingVerbs.has(verb) || subresource !== '') return undefined;
  if (table.comparison?.enforcementDiffers !== true) return undefined;
  const minor = preferredMinor(table, preferredVersion, now);
  const name = `${apiGroup}.${resource}`;
  if (minor === undefined || !isPolicyOf(table, name) || isPolicyOf(table, name, minor)) return undefined;
  const coming = comingPreference(table, preferredVersion, now);
  const comes = now !== undefined && coming !== undefined && isPolicyOf(table, name, coming.minor);
  const from = comes
    ? `in ${Math.ceil((coming.at - now) / 1000)} s, when ${coming.minor} becomes the preferred version`
    : `${actsFrom[preferredVersion] ?? 'once a version that knows it is preferred'}; with --preferred-version=newest at all routers it acts at once`;
  return `299 - "stored, but it does not act yet: writes go to API servers of version ${minor} (--preferred-version=${preferredVersion}), which do not know ${resource}. It acts ${from}"`;
}

/** True if a server, of this version if one is given, serves a kind of policy by this name. */
function isPolicyOf({ snapshot, server }: RoutingTable, name: string, minor?: string): boolean {
  return snapshot.servers.some(({ id, serves }) => {
    const set = snapshot.servedSets[serves];
    const isOfVersion = minor === undefined || server(id)?.minor === minor;
    return isOfVersion && set !== undefined && policiesOf(set).split(' ').includes(name);
  });
}
