import type { Clients } from '../model/client.ts';
import { pathOf, type ResourceKind, resourceKey } from '../model/flavour.ts';
import type { RouterNode } from '../model/router-node.ts';
import type { World } from '../model/world.ts';

/** Milliseconds after which a router knows what a server that has become ready serves. */
export const knownWithin = 5_000;
/** Milliseconds for which what only a server that has gone served is 503, at least. */
const graceAtLeast = 60_000;

/** Since when some server that is there has served it without a break; `undefined`: none serves it. */
function servedSince({ servers, network, run }: World, key: string, router: string): number | undefined {
  const since = servers
    .filter((server) => server.state === 'ready' && server.serves(key))
    .filter(({ node }) => network.openAt(router, node) === run.now)
    .map((server) => server.servesSince(key));
  return since.length === 0 ? undefined : Math.min(...since);
}

/** True if a 404 for the key is wrong: somebody serves it, and the router had the time and the means to know. */
export function mustBeKnown(world: World, key: string, router: RouterNode): boolean {
  const since = servedSince(world, key, router.node);
  if (since === undefined) return false;
  const disturbed = Math.min(
    world.disturbedSince(router.node) ?? Number.POSITIVE_INFINITY,
    world.form === 'pushed'
      ? (world.disturbedSince('sync') ?? Number.POSITIVE_INFINITY)
      : Number.POSITIVE_INFINITY,
  );
  return Math.min(world.run.now, disturbed) - Math.max(since, router.startedAt) >= knownWithin;
}

/** True if a server that is away now served the key a moment ago. */
function isOfOneAway({ servers, run }: World, key: string): boolean {
  return servers.some(
    (server) =>
      server.state !== 'ready' &&
      server.downSince > 0 &&
      run.now - server.downSince < graceAtLeast &&
      server.serves(key) &&
      server.hadServedFor(key) >= knownWithin,
  );
}

interface ListCheck {
  readonly router: RouterNode;
  readonly user: string;
  readonly kind: ResourceKind;
}

/** Lists objects, and looks at a 404. @returns whether there was a response of a server */
export async function checkServed(clients: Clients, { router, user, kind }: ListCheck): Promise<boolean> {
  const { world } = clients;
  const key = resourceKey(kind);
  const wasKnown = mustBeKnown(world, key, router);
  const wasAway = !wasKnown && isOfOneAway(world, key) && world.disturbedSince(router.node) === undefined;
  // Nobody may name somebody else.
  const claims = world.run.draws.chance('claims', 0.1) ? ['x-remote-user', 'admin'] : [];
  const response = await clients.ask({ router, target: pathOf(kind), user, headers: claims });
  if (response === undefined) return false;
  if (response.status === 404) {
    if (wasKnown && mustBeKnown(world, key, router))
      world.invariants.violated('not-found', `${key} through ${router.node}, which a ready server serves`);
    else if (wasAway && isOfOneAway(world, key))
      world.invariants.violated(
        'gone-early',
        `404 for ${key} through ${router.node}: its server is only away`,
      );
  }
  return response.status === 200;
}

interface AggregatedList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources?: readonly { readonly resource: string }[];
    }[];
  }[];
}

/** Asks for merged documents: they list nothing that nobody serves, and all that somebody does. */
export async function checkDiscovery(
  clients: Clients,
  router: RouterNode,
  form: 'aggregated' | 'classic' | 'openapi',
): Promise<void> {
  const { world } = clients;
  const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const target = form === 'openapi' ? '/openapi/v3' : '/apis';
  const accept = form === 'aggregated' ? aggregated : 'application/json';
  const keys = [
    'flowschemas.flowcontrol.apiserver.k8s.io',
    'resourceclaims.resource.k8s.io',
    'deployments.apps',
  ];
  const known = keys.filter((key) => mustBeKnown(world, key, router));
  const coding = world.run.draws.chance('discovery', 0.3) ? 'gzip' : 'identity';
  const response = await clients.ask({
    router,
    target,
    headers: ['accept', accept, 'accept-encoding', coding],
  });
  if (response?.status !== 200 || response.headers.includes('gzip')) return;
  const names = namesIn(form, response.text);
  if (names === undefined) return;
  for (const key of known) {
    if (!mustBeKnown(world, key, router) || names.has(nameFor(form, key))) continue;
    world.invariants.violated('not-listed', `${target} through ${router.node} lacks ${key}`);
  }
  if (form !== 'aggregated' || world.disturbedSince(router.node) !== undefined) return;
  // A router that is pushed snapshots lists what the last one says.
  if (world.form === 'pushed' && world.disturbedSince('sync') !== undefined) return;
  // Resources that a server will not serve any more are known once it is ready.
  const isServed = (name: string): boolean =>
    world.servers.some(
      (server) =>
        server.serves(name) ||
        (server.serves(name, server.before) && !(world.run.now - server.readySince >= knownWithin)),
    );
  for (const name of names)
    if (!isServed(name))
      world.invariants.violated('listed', `${target} through ${router.node} lists ${name}`);
}

function nameFor(form: string, key: string): string {
  if (form === 'aggregated') return key;
  return key.slice(key.indexOf('.') + 1);
}

/** `resource.group`, or the groups alone. */
function namesIn(form: string, text: string): ReadonlySet<string> | undefined {
  const document = JSON.parse(text) as AggregatedList & {
    readonly groups?: readonly { readonly name: string }[];
    readonly paths?: Readonly<Record<string, unknown>>;
  };
  if (form === 'classic') return document.groups && new Set(document.groups.map(({ name }) => name));
  if (form === 'openapi')
    return document.paths && new Set(Object.keys(document.paths).map((path) => path.split('/')[1] ?? ''));
  if (document.items === undefined) return undefined;
  return new Set(
    document.items.flatMap(({ metadata, versions }) =>
      versions.flatMap(({ resources = [] }) =>
        resources.map(({ resource }) => resourceKey({ group: metadata?.name ?? '', resource })),
      ),
    ),
  );
}
