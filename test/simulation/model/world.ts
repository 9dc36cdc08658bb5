import type { PreferredVersion } from '../../../src/routing/decision.ts';
import { errorMessage } from '../../../src/runtime/errors.ts';
import type { Logger } from '../../../src/runtime/logger.ts';
import { countsAfter, versionSettlesFor } from '../../../src/snapshot/routing-table/version-instants.ts';
import { Invariants } from '../invariants/invariants.ts';
import type { Machine, VirtualRun } from '../virtual/virtual-time.ts';
import { Access } from './access.ts';
import { ApiServer } from './api-server.ts';
import type { Flavour } from './flavour.ts';
import { Network } from './network.ts';
import { type Form, RouterNode, routerCount } from './router-node.ts';
import { Store } from './store.ts';
import { SyncNode } from './sync-node.ts';

export interface WorldSettings {
  readonly form: Form;
  readonly preferredVersion: PreferredVersion;
  readonly flavours: readonly Flavour[];
  /** Milliseconds that the wall clock of a node is ahead, and how much faster it runs. Default: neither. */
  readonly clocks: Readonly<Record<string, { readonly offset: number; readonly drift: number }>>;
  readonly hasDefinition: boolean;
  readonly hasLeases: boolean;
}

interface Disturbance {
  readonly node: string;
  readonly from: number;
  readonly until: number;
}

/** Milliseconds after a fault by which everything must be as if there had been none. */
export const recovery = 14_000;

/** API servers over one store, routers before them, the network between, and what is promised of all of it. */
export class World {
  readonly run: VirtualRun;
  readonly form: Form;
  readonly preferredVersion: PreferredVersion;
  readonly network: Network;
  readonly store = new Store();
  readonly access = new Access();
  readonly invariants: Invariants;
  readonly servers: readonly ApiServer[];
  readonly routers: readonly RouterNode[];
  readonly sync: SyncNode | undefined;
  readonly #clocks: Map<string, { offset: number; readonly drift: number }>;
  readonly #disturbances: Disturbance[] = [];
  hasDefinition: boolean;
  readonly hasLeases: boolean;
  compactedBefore = 0;
  /** Clients ask more within these: versions are about to change, or servers come and go. */
  readonly #hot: { readonly from: number; readonly until: number }[] = [];

  constructor(run: VirtualRun, settings: WorldSettings) {
    this.run = run;
    this.form = settings.form;
    this.preferredVersion = settings.preferredVersion;
    this.hasDefinition = settings.hasDefinition;
    this.hasLeases = settings.hasLeases;
    this.#clocks = new Map(Object.entries(settings.clocks).map(([node, clock]) => [node, { ...clock }]));
    this.network = new Network(run);
    this.invariants = new Invariants(this);
    this.servers = settings.flavours.map((_flavour, index) => new ApiServer(this, index));
    this.routers = Array.from({ length: routerCount }, (_, index) => new RouterNode(this, index));
    this.sync = settings.form === 'pushed' ? new SyncNode(this) : undefined;
    if (settings.hasDefinition) this.define();
    for (const [index, server] of this.servers.entries()) {
      const flavour = settings.flavours[index] ?? { binary: 35 };
      this.#oldLease(server);
      server.start({ flavour, lease: run.draws.between(`${server.node}/first`, 1, 50), ready: 1 });
    }
    for (const router of this.routers)
      run.atWorld(10 + run.draws.next(`${router.node}/first`) * 300, () => router.start());
    const { sync } = this;
    if (sync !== undefined) run.atWorld(50, () => sync.start());
  }

  /** The Lease of the server has been there for days. */
  #oldLease({ id, host }: ApiServer): void {
    if (!this.hasLeases) return;
    this.store.put('leases.coordination.k8s.io', id, {
      metadata: {
        namespace: 'kube-system',
        creationTimestamp: '2026-11-20T00:00:00Z',
        labels: { 'apiserver.kubernetes.io/identity': 'kube-apiserver', 'kubernetes.io/hostname': host },
      },
      spec: {
        holderIdentity: `${id}_0`,
        leaseDurationSeconds: 3600,
        renewTime: '2026-11-30T23:59:55.000000Z',
      },
    });
  }

  newMachine(node: string): Machine {
    const { offset = 0, drift = 0 } = this.#clocks.get(node) ?? {};
    return { name: node, offset, drift, alive: true, pausedUntil: 0 };
  }

  machineOf(node: string): Machine | undefined {
    const all = [...this.servers, ...this.routers, ...(this.sync === undefined ? [] : [this.sync])];
    return all.find((each) => each.node === node)?.machine;
  }

  setClock(node: string, by: number): void {
    const clock = this.#clocks.get(node) ?? { offset: 0, drift: 0 };
    clock.offset += by;
    this.#clocks.set(node, clock);
    const machine = this.machineOf(node);
    if (machine !== undefined) machine.offset += by;
    this.invariants.clockWasSet(node);
  }

  publishEndpoints(): void {
    const addresses = this.servers
      .filter(({ isListed }) => isListed)
      .map(({ address }) => ({ addresses: [address] }));
    this.store.put('endpointslices.discovery.k8s.io', 'kubernetes', {
      metadata: { namespace: 'default', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
      endpoints: addresses,
      ports: [{ name: 'https', port: 6443 }],
    });
  }

  /** Creates the CustomResourceDefinition of widgets: each server establishes it at a moment of its own. */
  define(): void {
    this.hasDefinition = true;
    this.store.put('customresourcedefinitions.apiextensions.k8s.io', 'widgets.example.com', {
      spec: { group: 'example.com', versions: [{ name: 'v1' }] },
    });
    for (const server of this.servers) {
      const delay = this.run.draws.between(`${server.node}/establish`, 20, 4_000);
      if (server.machine !== undefined) this.run.after(delay, () => server.establish(), server.machine);
    }
  }

  /** A server has become ready, or is not any more. */
  changed(_what: 'ready' | 'unready', _server: ApiServer): void {
    this.heat(0, 1_500);
    // Versions count so long after that (`countsAfter`, `versionSettlesFor`), at the latest.
    this.heat(countsAfter - 500, countsAfter + versionSettlesFor + 1_500);
  }

  /** Clients ask more between two moments from now on. */
  heat(from: number, until: number): void {
    this.#hot.push({ from: this.run.now + from, until: this.run.now + until });
  }

  get isHot(): boolean {
    const { now } = this.run;
    return this.#hot.some(({ from, until }) => from <= now && now < until);
  }

  disturb(node: string, milliseconds: number): void {
    this.#disturbances.push({ node, from: this.run.now, until: this.run.now + milliseconds });
  }

  /**
   * Since when, without a pause that was long enough to recover, something has been wrong with what a node can know;
   * `undefined`: nothing is.
   */
  disturbedSince(node: string): number | undefined {
    let since: number | undefined;
    const own = this.#disturbances.filter((each) => each.node === node || each.node === '*');
    for (const { from, until } of own.toSorted((one, other) => other.from - one.from)) {
      if (until + recovery >= (since ?? this.run.now)) since = Math.min(since ?? from, from);
    }
    return since;
  }

  /** True while something has been cut off for longer, and for a moment after it. @param milliseconds of the disturbance so far */
  isDisturbedFor(milliseconds: number): boolean {
    const { now } = this.run;
    return this.#disturbances.some(
      ({ from, until }) => now - from > milliseconds && until - from > milliseconds && now < until + recovery,
    );
  }

  loggerOf(node: string): Logger {
    const level = (name: string) => (fields: object, message: string) => {
      const { err, ...rest } = fields as { readonly err?: unknown };
      const error = err === undefined ? '' : ` ${errorMessage(err)}`;
      if (message === 'Snapshot in use')
        this.invariants.inUse(node, fields as { readonly createdAt: number });
      const text = `${node} ${name}: ${message} ${JSON.stringify(rest)}${error}`;
      this.run.log(text);
      // What the program cannot read, the model says wrongly: a whole kind of object was missing once.
      if (text.includes('is not the expected document')) this.invariants.violated('document', text);
    };
    const silent = (): void => {};
    return {
      debug: silent,
      trace: silent,
      info: level('info'),
      warn: level('warn'),
      error: level('error'),
    } as Logger;
  }
}
