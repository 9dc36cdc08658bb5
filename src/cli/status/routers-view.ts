import type { RouterStatus } from '../../own-paths/status/status-schema.ts';

export interface RoutersView {
  /** True if they decide alike. `null`: not known, since not all told what they know. */
  readonly agree: boolean | null;
  readonly differences: readonly Difference[];
  /** IDs of the servers whose routers could not be asked, because no address of them is known. */
  readonly notAsked: readonly string[];
  readonly routers: readonly RouterOfServer[];
}

export interface Difference {
  /** Subject: a setting, or a server by its ID. */
  readonly subject: string;
  readonly values: readonly { readonly value: string; readonly routers: readonly string[] }[];
}

export interface RouterOfServer {
  /** Where it was asked, `https://host:port`. */
  readonly server: string;
  /** ID of the server that it stands before; `null`: a gateway, or not known. */
  readonly serverId: string | null;
  /** Why it does not tell, in a sentence that names `server`; `null` where it does. */
  readonly error: string | null;
  /** Its `v1/status`; `null` where it does not tell. */
  readonly status: RouterStatus | null;
}

/**
 * Where routers differ, so that a request may be routed by one in another way than by the next: what they know of each
 * server, and the settings that decide. Generations are not compared: routers that read the cluster themselves count
 * their own. A router without a snapshot is compared by its feature gate only. Pure.
 */
export function differencesBetween(routers: readonly RouterOfServer[]): readonly Difference[] {
  const told = routers.flatMap(({ server, status }) => (status === null ? [] : [{ server, status }]));
  const knowing = told.filter(({ status }) => status.snapshot !== null);
  return [
    ...differencesOf(told, ({ enabled }) => [['feature gate', enabled ? 'on' : 'off']]),
    ...differencesOf(knowing, factsOfSnapshot),
  ];
}

/** True if routers decide alike. `null`: not known, since not all could be asked, or not all have a snapshot. Pure. */
export function agreementOf(
  routers: readonly RouterOfServer[],
  differences: readonly Difference[],
  notAsked: readonly string[],
): boolean | null {
  if (differences.length > 0) return false;
  const haveTold = routers.every(({ status }) => status !== null && status.snapshot !== null);
  return notAsked.length === 0 && haveTold ? true : null;
}

type Fact = readonly [subject: string, value: string];

interface ToldRouter {
  readonly server: string;
  readonly status: RouterStatus;
}

function differencesOf(
  routers: readonly ToldRouter[],
  factsOf: (status: RouterStatus) => readonly Fact[],
): readonly Difference[] {
  const known = routers.map(({ server, status }) => ({ server, facts: new Map(factsOf(status)) }));
  return [...new Set(known.flatMap(({ facts }) => [...facts.keys()]))]
    .map((subject) => ({
      subject,
      values: [...Map.groupBy(known, ({ facts }) => facts.get(subject) ?? 'not known')].map(
        ([value, group]) => ({ value, routers: group.map(({ server }) => server) }),
      ),
    }))
    .filter(({ values }) => values.length > 1);
}

function factsOfSnapshot({ preferredVersion, servers, snapshot }: RouterStatus): readonly Fact[] {
  const { extensionApis = [], customResourceGroups = [] } = snapshot ?? {};
  return [
    ['preferred version', preferredVersion.minor ?? preferredVersion.configured],
    ...servers.map(({ id, version, departedAt }): Fact => {
      const state = departedAt === null ? (version ?? 'of unknown version') : 'departed';
      return [`server ${id}`, state];
    }),
    // The name of a set is the hash of what is in it (snapshot format): its beginning tells two apart.
    ...servers.map(
      ({ id, serves }): Fact => [
        `what server ${id} serves`,
        serves?.slice(0, 'sha256:'.length + 8) ?? 'not known',
      ],
    ),
    ...extensionApis.map(
      ({ groupVersion, service, available }): Fact => [
        `extension API ${groupVersion}`,
        available ? service : `${service}, not available`,
      ],
    ),
    ...customResourceGroups.map((group): Fact => [`custom resources of ${group}`, 'known']),
  ];
}
