import { memoryForOthers } from '../../../src/node/exchange/serving-limits.ts';
import type { Clients } from '../model/client.ts';
import { builtIn, pathOf, resourceKey, widgets } from '../model/flavour.ts';
import type { Informer } from '../model/informer.ts';

const shared = new Set(['coordination.k8s.io', 'discovery.k8s.io', 'apiregistration.k8s.io', 'batch']);

/** Milliseconds: a router that has just started holds back what depends on the version for ten seconds. */
const longestWait = 11_000;

/**
 * Liveness, when all faults are over and there was time to recover: every router serves everything, watches get what changes,
 * and nothing is left waiting.
 */
export async function finalLook(clients: Clients, informers: readonly Informer[]): Promise<void> {
  const { world } = clients;
  const { invariants, run, store } = world;
  const late = invariants.waiting.filter(
    ({ target, sentAt }) => !target.includes('watch=true') && run.now - sentAt > longestWait,
  );
  for (const { method, target, router } of late)
    invariants.violated('left-waiting', `${method} ${target} through ${router} has had no response`);
  store.put('deployments.apps', 'd0', { ...store.get('deployments.apps', 'd0'), spec: 'last' });
  const { version } = store;
  for (const router of world.routers) {
    const ready = await clients.ask({ router, target: '/readyz' });
    if (ready?.status !== 200)
      invariants.violated('not-ready', `${router.node}: /readyz is ${ready?.status}`);
    for (const kind of [
      ...builtIn.filter(({ group }) => group !== '' && !shared.has(group)),
      ...(world.hasDefinition ? [widgets] : []),
    ]) {
      if (!world.servers.some((server) => server.state === 'ready' && server.serves(resourceKey(kind))))
        continue;
      const response = await clients.ask({ router, target: pathOf(kind) });
      if (response?.status !== 200)
        invariants.violated(
          'not-served',
          `${resourceKey(kind)} through ${router.node} is ${response?.status ?? 'broken'}`,
        );
    }
  }
  // Watches that have waited for a version are opened over three seconds.
  run.after(3_500, () => {
    for (const informer of informers)
      if (informer.version < version)
        invariants.violated(
          'watch-stuck',
          `the watch through ${informer.router.node} is at ${informer.version}, not ${version}`,
        );
  });
  run.after(4_000, () => {
    invariants.lookedAtEnd = true;
    const held = memoryForOthers.bytes;
    const requests = world.routers.reduce((sum, { front }) => sum + front.requests, 0);
    // A process that was killed took the bytes that it held with it.
    const isWhole = world.routers.every(({ starts }) => starts === 1);
    if (isWhole && requests === informers.length && held !== invariants.heldAtBeginning)
      invariants.violated('budget', `${held - invariants.heldAtBeginning} bytes stay held`);
    run.end();
  });
}
