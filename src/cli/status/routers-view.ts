import type { RouterStatus } from '../../own-paths/status/status-schema.ts';

export interface RoutersView {
  /** Whether they decide alike. `null`: not known, since not all told what they know. */
  readonly agree: boolean | null;
  readonly differences: readonly Difference[];
  /** IDs of the servers whose routers could not be asked, because no address of them is known. */
  readonly notAsked: readonly string[];
  readonly routers: readonly RouterOfServer[];
}

export interface Difference {
  /** What it is about: a setting, or a server. */
  readonly subject: string;
  readonly values: readonly { readonly value: string; readonly routers: readonly string[] }[];
}

export interface RouterOfServer {
  /** Where it was asked, `https://host:port`. */
  readonly server: string;
  /** Of the server that it stands before; `null`: a gateway, or not known. */
  readonly serverId: string | null;
  /** Why it does not tell, in a sentence that names `server`; `null` where it does. */
  readonly error: string | null;
  /** Its `v1/status`; `null` where it does not tell. */
  readonly status: RouterStatus | null;
}

/**
 * Where routers differ, so that a request may be routed by one in another way than by the next: what they know of each
 * server, and the settings that decide. Generations are not compared: routers that read the cluster themselves count
 * their own. A router without a snapshot is compared by its settings only. Pure.
 */
export function differencesBetween(routers: readonly RouterOfServer[]): readonly Difference[] {
  const told = routers.flatMap(({ server, status }) => (status === null ? [] : [{ server, status }]));
  const knowing = told.filter(({ status }) => status.snapshot !== null);
  return [
    ...differencesOf(told, settings),
    ...differencesOf(knowing, preference),
    ...differencesOf(knowing, versions),
    ...differencesOf(knowing, served),
  ];
}

/** Whether routers decide alike. `null`: not known, since not all could be asked, or not all have a snapshot. Pure. */
export function agreementOf(
  routers: readonly RouterOfServer[],
  differences: readonly Difference[],
  notAsked: readonly string[],
): boolean | null {
  if (differences.length > 0) return false;
  const haveTold = routers.every(({ status }) => status !== null && status.snapshot !== null);
  return notAsked.length === 0 && haveTold ? true : null;
}

interface Fact {
  /** Which fact it is, whatever routers call it: a machine has two servers while one takes the place of another. */
  readonly key: string;
  readonly subject: string;
  readonly value: string;
}

function plainFact(subject: string, value: string): Fact {
  return { key: subject, subject, value };
}

interface ToldRouter {
  readonly server: string;
  readonly status: RouterStatus;
}

function differencesOf(
  routers: readonly ToldRouter[],
  factsOf: (status: RouterStatus) => readonly Fact[],
): readonly Difference[] {
  const facts = routers.map(
    ({ server, status }) => [server, new Map(factsOf(status).map((fact) => [fact.key, fact]))] as const,
  );
  const subjects = new Map(
    facts.flatMap(([, known]) => [...known.values()].map((fact) => [fact.key, fact.subject])),
  );
  return [...subjects]
    .map(([key, subject]) => ({
      subject,
      values: [...Map.groupBy(facts, ([, known]) => known.get(key)?.value ?? 'not known')].map(
        ([value, group]) => ({ value, routers: group.map(([server]) => server) }),
      ),
    }))
    .filter(({ values }) => values.length > 1);
}

function settings({ enabled }: RouterStatus): readonly Fact[] {
  return [plainFact('feature gate', enabled ? 'on' : 'off')];
}

/** Which version a setting comes to is known with a snapshot alone. */
function preference({ preferredVersion }: RouterStatus): readonly Fact[] {
  return [plainFact('preferred version', preferredVersion.minor ?? preferredVersion.configured)];
}

function versions({ servers }: RouterStatus): readonly Fact[] {
  return servers.map((server) => ({
    key: server.id,
    subject: `server ${nameOf(server)}`,
    value: server.departedAt === null ? (server.version ?? 'of unknown version') : 'departed',
  }));
}

function served({ servers, snapshot }: RouterStatus): readonly Fact[] {
  return [
    ...servers.map(
      (server): Fact => ({
        key: `serves ${server.id}`,
        subject: `what server ${nameOf(server)} serves`,
        // The name of a set is the hash of what is in it (snapshot format): its beginning tells two apart.
        value: server.serves?.slice(0, 'sha256:'.length + 8) ?? 'not known',
      }),
    ),
    ...(snapshot?.extensionApis ?? []).map(({ groupVersion, service, available }) =>
      plainFact(`extension API ${groupVersion}`, available ? service : `${service}, not available`),
    ),
    ...(snapshot?.customResourceGroups ?? []).map((group) =>
      plainFact(`custom resources of ${group}`, 'known'),
    ),
  ];
}

function nameOf({ id, hostname }: RouterStatus['servers'][number]): string {
  return hostname ?? id;
}
