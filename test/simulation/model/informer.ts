import type { ObjectOfClient } from './actors.ts';
import type { Clients } from './client.ts';
import { pathOf, type ResourceKind, resourceKey } from './flavour.ts';
import type { RouterNode } from './router-node.ts';

export interface Informer {
  readonly router: RouterNode;
  readonly resource: string;
  /** Up to which change it has seen everything. */
  readonly version: number;
  cached(name: string): { readonly object: ObjectOfClient; readonly isWarned: boolean } | undefined;
}

interface WatchEvent {
  readonly type: string;
  readonly object: ObjectOfClient & { readonly code?: number };
}

/** As client-go's informers: lists, watches, resumes after each end from the last version that it has seen. */
export function followObjects(clients: Clients, router: RouterNode, kind: ResourceKind): Informer {
  const { world, machine } = clients;
  const { run, store, invariants } = world;
  const path = pathOf(kind);
  const key = resourceKey(kind);
  const cache = new Map<string, { readonly object: ObjectOfClient; readonly isWarned: boolean }>();
  const informer = { router, resource: key, version: 0, cached: (name: string) => cache.get(name) };

  async function list(): Promise<void> {
    const response = await clients.ask({ router, target: path });
    if (response?.status !== 200) {
      run.after(500 + 500 * run.draws.next(`informer-${router.node}`), () => void list(), machine);
      return;
    }
    const found = JSON.parse(response.text) as {
      readonly metadata: { readonly resourceVersion: string };
      readonly items: readonly ObjectOfClient[];
    };
    const version = Number(found.metadata.resourceVersion);
    if (version < informer.version)
      invariants.violated(
        'goes-back',
        `a list through ${router.node} is of ${version}, before ${informer.version}`,
      );
    informer.version = version;
    cache.clear();
    const isWarned = response.headers.includes('warning');
    for (const object of found.items) cache.set(object.metadata.name, { object, isWarned });
    watch();
  }

  function took({ type, object }: WatchEvent, isWarned: boolean): void {
    const version = Number(object.metadata.resourceVersion);
    if (type === 'BOOKMARK') {
      missed(version);
      informer.version = Math.max(informer.version, version);
      return;
    }
    if (version <= informer.version) {
      invariants.violated(
        'event-again',
        `${router.node} passed on change ${version} after ${informer.version}`,
      );
      return;
    }
    missed(version - 1);
    informer.version = version;
    if (type === 'DELETED') cache.delete(object.metadata.name);
    else cache.set(object.metadata.name, { object, isWarned });
    invariants.count('an event of a watch');
  }

  /** Changes after the last one seen, up to this one, that never came. */
  function missed(upTo: number): void {
    const lost = store.history.findLast(
      ({ resource, version }) => resource === key && version > informer.version && version <= upTo,
    );
    if (lost === undefined) return;
    invariants.violated('event-lost', `${router.node} never passed on change ${lost.version} of ${key}`);
  }

  function watch(): void {
    let rest = '';
    let isWarned = false;
    let isListing = false;
    const again = (): void => {
      if (sent !== undefined) invariants.broken(sent.request);
      const wait = 50 + 400 * run.draws.next(`informer-${router.node}`);
      run.after(wait, () => (isListing ? void list() : watch()), machine);
    };
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${informer.version}&timeoutSeconds=300`;
    const sent = clients.send(
      { router, target: `${path}?${query}` },
      {
        head: (status, headers) => {
          isWarned = headers.some((text) => text.toLowerCase() === 'warning');
          if (status !== 200) isListing = status === 410;
          invariants.count(status === 200 ? 'a watch was opened' : `a watch got ${status}`);
          if (status !== 200) rest = '-';
        },
        data: (text) => {
          if (rest === '-') return;
          const lines = (rest + text).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) took(JSON.parse(line) as WatchEvent, isWarned);
        },
        end: () => {
          if (rest !== '' && rest !== '-')
            invariants.violated('half-event', `${router.node} ended a watch in order within an event`);
          again();
        },
        broken: again,
      },
    );
    if (sent === undefined) run.after(300 + 300 * run.draws.next(`informer-${router.node}`), watch, machine);
  }

  run.after(1_300 + 500 * run.draws.next(`informer-${router.node}`), () => void list(), machine);
  return informer;
}
