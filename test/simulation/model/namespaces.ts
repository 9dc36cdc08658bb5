import { mustBeKnown } from '../invariants/served.ts';
import { objectIn } from './actors.ts';
import type { Clients } from './client.ts';
import { builtIn, pathOf, type ResourceKind, resourceKey, widgets } from './flavour.ts';
import type { RouterNode } from './router-node.ts';

/** Kinds of which somebody has objects. */
const filled = [
  ...builtIn.filter(({ resource }) => /^(?:configmaps|deployments|resourceclaims)$/.test(resource)),
  widgets,
];
const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

interface Discovery {
  readonly items: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly freshness?: string;
      readonly resources: readonly { readonly resource: string; readonly scope: string }[];
    }[];
  }[];
}

/**
 * Fills a namespace and empties it as kube-controller-manager does: it deletes the objects of all kinds that discovery lists, and
 * removes the namespace when none was left (pkg/controller/namespace/deletion). A kind that discovery lacks stays for ever.
 */
export function startNamespaceController(clients: Clients): void {
  const { world } = clients;
  const { draws } = world.run;
  if (!draws.chance('namespaces', 0.3)) return;
  let count = 0;
  clients.repeat(
    'namespaces',
    () => 4_000,
    async () => {
      count++;
      const name = `n${count}`;
      for (const kind of filled) {
        const body = { metadata: { name }, spec: '0' };
        const router = clients.pickRouter('namespaces');
        await clients.ask({ router, method: 'POST', target: pathOf(kind), body });
      }
      await emptied(clients, name);
    },
  );
}

/** Resolves when the namespace is removed, or at an error: then a controller tries again, and nothing is lost. */
async function emptied(clients: Clients, name: string): Promise<void> {
  const { world } = clients;
  const router = clients.pickRouter('namespaces');
  const known = filled.filter((kind) => mustBeKnown(world, resourceKey(kind), router));
  const kinds = await discovered(clients, router);
  if (kinds === undefined) return;
  for (const target of kinds) {
    const listed = await clients.ask({ router, target });
    if (listed?.status !== 200) return;
    const found = (
      JSON.parse(listed.text) as { readonly items: readonly { readonly metadata: { name: string } }[] }
    ).items;
    if (!found.some(({ metadata }) => metadata.name === name)) continue;
    const deleted = await clients.ask({ router, method: 'DELETE', target: `${target}/${name}` });
    if (deleted?.status !== 200 && deleted?.status !== 404) return;
  }
  world.invariants.count('a namespace was emptied');
  for (const kind of known) {
    if (world.store.get(resourceKey(kind), name) === undefined) continue;
    if (mustBeKnown(world, resourceKey(kind), router))
      world.invariants.violated(
        'left-behind',
        `${resourceKey(kind)} in a namespace that was emptied through ${router.node}`,
      );
  }
}

/** @returns paths of the collections; `undefined`: discovery failed, or is stale in part */
async function discovered(clients: Clients, router: RouterNode): Promise<readonly string[] | undefined> {
  const paths: string[] = [];
  for (const target of ['/api', '/apis']) {
    const response = await clients.ask({ router, target, headers: ['accept', accept] });
    const found = objectIn(response) as unknown as Discovery | undefined;
    if (found?.items === undefined) return undefined;
    for (const { metadata, versions } of found.items) {
      for (const { version, freshness, resources } of versions) {
        if (freshness === 'Stale') return undefined;
        const group = metadata?.name ?? '';
        for (const { resource, scope } of resources) {
          if (scope !== 'Namespaced' || /^(?:pods|leases|endpointslices|jobs)$/.test(resource)) continue;
          paths.push(pathOf({ group, version, resource, namespaced: true } as ResourceKind));
        }
      }
    }
  }
  return paths;
}
