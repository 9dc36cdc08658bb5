import type { ClientResponse } from '../invariants/invariants.ts';
import { checkDiscovery, checkServed } from '../invariants/served.ts';
import type { Clients } from './client.ts';
import { builtIn, pathOf, resourceKey, widgets } from './flavour.ts';
import { followObjects, type Informer } from './informer.ts';
import { startLeader } from './leader.ts';
import { startNamespaceController } from './namespaces.ts';

const deployments = builtIn.find(({ resource }) => resource === 'deployments') ?? widgets;
const objects = ['d0', 'd1', 'd2'];

/** Milliseconds between two requests of one actor: more often while versions may change. */
function pace(clients: Clients, hot: number, calm: number): () => number {
  return () => (clients.world.isHot ? hot : calm);
}

/** Objects that are there from the beginning. */
export function createObjects({ world: { store } }: Clients): void {
  for (const name of objects) {
    store.put(resourceKey(deployments), name, { metadata: { namespace: 'default' }, spec: '0' });
  }
  store.put('flowschemas.flowcontrol.apiserver.k8s.io', 'f0', { spec: '0' });
}

export interface ObjectOfClient {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly [field: string]: unknown;
}

export function objectIn(response: ClientResponse | undefined): ObjectOfClient | undefined {
  return response?.status === 200 ? (JSON.parse(response.text) as ObjectOfClient) : undefined;
}

/** Clients of every sort, each at its own pace. @returns what is followed by watches */
export function startActors(clients: Clients): readonly Informer[] {
  const { world } = clients;
  const { draws } = world.run;
  const path = pathOf(deployments);
  let written = 0;

  // Users of the new fields: they set them wherever they are taken.
  clients.repeat('setter', pace(clients, 220, 2_500), async () => {
    const target = `${path}/${draws.pick('setter', objects)}`;
    const field = draws.pick('setter', ['newField', 'newField', 'newerField', 'gated']);
    written++;
    const body = { [field]: `${written}` };
    await clients.ask({ router: clients.pickRouter('setter'), method: 'PATCH', target, body, user: 'bob' });
  });

  // Old clients: they read an object, change what they know and write all of it back.
  clients.repeat('rewriter', pace(clients, 170, 2_000), async () => {
    const target = `${path}/${draws.pick('rewriter', objects)}`;
    const response = await clients.ask({ router: clients.pickRouter('rewriter'), target });
    const object = objectIn(response);
    if (object === undefined) return;
    written++;
    await clients.ask({
      router: clients.pickRouter('rewriter'),
      method: 'PUT',
      target,
      body: { ...object, spec: `${written}` },
      isForewarned: response?.headers.includes('warning') === true,
    });
  });

  // Objects that a policy of newer versions forbids.
  clients.repeat('creator', pace(clients, 300, 2_500), async () => {
    written++;
    const body = { metadata: { name: `x${written}` }, spec: '0', forbidden: true };
    await clients.ask({ router: clients.pickRouter('creator'), method: 'POST', target: path, body });
  });

  // Lists of everything that some version serves.
  clients.repeat('lister', pace(clients, 300, 1_000), async () => {
    const kind = draws.pick('lister', [...builtIn, ...(world.hasDefinition ? [widgets] : [])]);
    const router = clients.pickRouter('lister');
    const user = draws.pick('lister', ['alice', 'bob']);
    await checkServed(clients, { router, user, kind });
  });

  clients.repeat('discovery', pace(clients, 1_000, 3_000), async () => {
    const router = clients.pickRouter('discovery');
    const form = draws.pick('discovery', ['aggregated', 'aggregated', 'classic', 'openapi'] as const);
    await checkDiscovery(clients, router, form);
  });

  startLeader(clients);
  startNamespaceController(clients);

  // A controller for each router: it lists and watches, and writes what it has cached.
  return world.routers.map((router) => {
    const informer = followObjects(clients, router, deployments);
    clients.repeat(`controller-${router.node}`, pace(clients, 900, 3_000), async () => {
      const cached = informer.cached(draws.pick(`controller-${router.node}`, objects));
      if (cached === undefined) return;
      written++;
      const target = `${path}/${cached.object.metadata.name}`;
      const body = { ...cached.object, spec: `c${written}` };
      await clients.ask({ router, method: 'PUT', target, body, isForewarned: cached.isWarned });
    });
    return informer;
  });
}
