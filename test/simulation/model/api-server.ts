import type { Machine } from '../virtual/virtual-time.ts';
import {
  answer,
  type Behaviour,
  behaviourOf,
  type Flavour,
  nameOfFlavour,
  policyLevel,
  type ResourceKind,
  resourceKey,
  widgets,
} from './flavour.ts';
import { type ArrivedRequest, areOnOneNode, type Listener, type Reply } from './network.ts';
import { isSelected, requestOf, type TargetedRequest } from './request-target.ts';
import type { StoredObject } from './store.ts';
import { WatchCache } from './watch-cache.ts';
import type { World } from './world.ts';

export type ServerState = 'down' | 'starting' | 'ready' | 'ending';

export interface Startup {
  readonly flavour: Flavour;
  /** Milliseconds until its Lease is there, and until it is ready. */
  readonly lease: number;
  readonly ready: number;
}

/** Milliseconds between two renewals of an identity Lease. */
const renewal = 10_000;
/** Milliseconds after which other servers take the endpoint of one out that says nothing (lease-based reconciler). */
const endpointExpiry = 15_000;
/** The body of kube-apiserver's 503 at its end, with which it says that it has done nothing. */
const shuttingDown =
  '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"apiserver is shutting down","reason":"ServiceUnavailable","code":503}\n\n';

const status = (code: number, reason: string, message: string) =>
  answer(code, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code });

/** A modelled kube-apiserver, as far as routers and their clients can tell. */
export class ApiServer implements Listener {
  readonly world: World;
  readonly node: string;
  readonly host: string;
  readonly id: string;
  readonly address: string;
  readonly origin: string;
  state: ServerState = 'down';
  flavour: Flavour = { binary: 0 };
  behaviour: Behaviour = behaviourOf({ binary: 35 }, false);
  /** Behaviour of the process before this one. */
  before: Behaviour = this.behaviour;
  machine: Machine | undefined;
  isSilent = false;
  authority = 'A';
  /** Virtual time since when it is ready. */
  readySince = Number.POSITIVE_INFINITY;
  /** Virtual time since when it is not ready any more. */
  downSince = Number.NEGATIVE_INFINITY;
  /** Writes wait so many milliseconds at most until then. */
  stall = { until: 0, most: 0 };
  overloadedUntil = 0;
  /** How often an operator has replaced the server so far. */
  replacements = 0;
  /** Among the endpoints of the Service `kubernetes`. */
  isListed = false;
  #process = 0;
  #establishedAt = 0;
  #wasReadySince = 0;
  /** The process that a power failure has ended. */
  #lost: Machine | undefined;
  #cache: WatchCache | undefined;

  constructor(world: World, index: number) {
    this.world = world;
    this.node = `s${index}`;
    this.host = `cp-${index}`;
    this.id = `apiserver-${index}`;
    this.address = `10.0.0.${index + 1}`;
    this.origin = `https://${this.address}:6443`;
    world.network.listeners.set(this.origin, this);
  }

  get name(): string {
    return `${this.node} (${nameOfFlavour(this.flavour)})`;
  }

  start({ flavour, lease, ready }: Startup): void {
    const { world, node } = this;
    const { run } = world;
    // A host that is back knows nothing of the connections of before, and says so (RST).
    if (this.#lost !== undefined) world.network.breakAll(this.#lost);
    this.#lost = undefined;
    const machine = world.newMachine(node);
    this.#process++;
    this.machine = machine;
    this.before = this.behaviour;
    this.flavour = flavour;
    this.isSilent = false;
    this.state = 'starting';
    this.#hasWidgets(false);
    this.#cache = new WatchCache(world, machine, node);
    run.log(`${node} starts as ${nameOfFlavour(flavour)}`);
    const created = run.wallClock(machine);
    const holder = `${this.id}_${this.#process}`;
    const renew = (): void => {
      this.#renew(holder, created);
      run.after(renewal, renew, machine);
    };
    if (world.hasLeases) run.after(lease, renew, machine);
    run.after(ready, () => this.#ready(), machine);
    if (world.hasDefinition)
      run.after(ready * run.draws.next(`${node}/establish`), () => this.establish(), machine);
  }

  /** Establishes a CustomResourceDefinition that was created. */
  establish(): void {
    if (!this.world.hasDefinition) return;
    if (!this.servesWidgets) this.#establishedAt = this.world.run.now;
    this.#hasWidgets(true);
  }

  /** Virtual time for which its last process had served it, before that was not ready any more. */
  hadServedFor(key: string): number {
    const since = key === resourceKey(widgets) ? this.#establishedAt : Number.NEGATIVE_INFINITY;
    return this.downSince - Math.max(since, this.#wasReadySince);
  }

  /** Virtual time since when a server that is ready has served it. */
  servesSince(key: string): number {
    return key === resourceKey(widgets) ? Math.max(this.readySince, this.#establishedAt) : this.readySince;
  }

  #hasWidgets(has: boolean): void {
    this.behaviour = behaviourOf(this.flavour, has);
  }

  #ready(): void {
    const { run } = this.world;
    this.establish();
    this.state = 'ready';
    this.readySince = run.now;
    this.isListed = true;
    run.log(`${this.node} is ready`);
    this.world.publishEndpoints();
    this.world.changed('ready', this);
  }

  #renew(holder: string, created: number): void {
    const { run, store } = this.world;
    const time = new Date(run.wallClock(this.machine)).toISOString();
    const before = store.get('leases.coordination.k8s.io', this.id);
    const creationTimestamp =
      before?.metadata['creationTimestamp'] ?? `${new Date(created).toISOString().slice(0, 19)}Z`;
    store.put('leases.coordination.k8s.io', this.id, {
      metadata: {
        namespace: 'kube-system',
        creationTimestamp,
        labels: {
          'apiserver.kubernetes.io/identity': 'kube-apiserver',
          'kubernetes.io/hostname': this.host,
        },
      },
      spec: { holderIdentity: holder, leaseDurationSeconds: 3600, renewTime: time.replace('Z', '000Z') },
    });
  }

  /** In its order: not ready and out of the Lease and the endpoints; no new requests; the rest; the end. */
  terminate(): void {
    const { machine, world, node } = this;
    if (machine === undefined) return;
    const { run } = world;
    run.log(`${node} gets SIGTERM`);
    this.#unready('ending');
    this.isListed = false;
    world.store.remove('leases.coordination.k8s.io', this.id);
    world.publishEndpoints();
    const refuses = run.draws.between(`${node}/terminate`, 20, 600);
    run.after(
      refuses,
      () => {
        for (const connection of [...world.network.connections])
          if (connection.server === machine) connection.goAway();
        this.#cache?.end();
      },
      machine,
    );
    run.after(
      refuses + run.draws.between(`${node}/terminate`, 100, 1_500),
      () => this.#ended(machine),
      machine,
    );
  }

  /** SIGKILL; with its host nothing answers any more. */
  kill(withHost: boolean): void {
    const { machine, world } = this;
    if (machine === undefined) return;
    world.run.log(`${this.node} gets SIGKILL${withHost ? ' with its host' : ''}`);
    this.isSilent = withHost;
    this.#unready('down');
    const process = this.#process;
    world.run.atWorld(world.run.now + endpointExpiry, () => {
      if (this.#process !== process) return;
      this.isListed = false;
      world.publishEndpoints();
    });
    this.#ended(machine);
  }

  #unready(state: 'ending' | 'down'): void {
    const wasReady = this.state === 'ready';
    this.state = state;
    if (wasReady) this.#wasReadySince = this.readySince;
    this.readySince = Number.POSITIVE_INFINITY;
    this.downSince = this.world.run.now;
    if (wasReady) this.world.changed('unready', this);
  }

  #ended(machine: Machine): void {
    this.state = 'down';
    this.#cache?.stop();
    machine.alive = false;
    this.machine = undefined;
    if (this.isSilent) {
      this.#lost = machine;
      this.world.network.breakAll(machine, ({ client }) => areOnOneNode(client.name, this.node));
    } else this.world.network.breakAll(machine);
    this.world.run.log(`${this.node} has ended`);
  }

  handle(request: ArrivedRequest, reply: Reply): void {
    const { world, node, machine } = this;
    const { run, store } = world;
    const asked = requestOf(request);
    let work = run.draws.between(`${node}/work`, 0.3, 6);
    if (asked.isWrite && run.now < this.stall.until)
      work += run.draws.next(`${node}/stall`) * this.stall.most;
    const at = asked.isStored ? Math.max(run.now + work, store.hangsUntil) : run.now + work;
    run.at(
      at,
      () => {
        if (!reply.isOver || asked.isWrite) this.#respond(request, asked, reply);
      },
      machine,
    );
  }

  #respond(request: ArrivedRequest, asked: TargetedRequest, reply: Reply): void {
    const { run } = this.world;
    const found = this.#answer(request, asked, reply);
    if (found === undefined) return;
    run.log(`${request.by} ${request.method} ${request.target} at ${this.node}: ${found.status}`);
    reply.whole(found.status, found.headers, found.body);
  }

  #answer(request: ArrivedRequest, asked: TargetedRequest, reply: Reply) {
    const { path } = asked;
    if (path === '/readyz') {
      return this.state === 'ready'
        ? answer(200, 'ok', 'text/plain')
        : answer(500, 'not ready', 'text/plain');
    }
    if (this.state === 'ending' && this.#cache?.isEnded === true) return answer(503, shuttingDown);
    const user = this.world.access.userOf(request);
    if (user === undefined) return status(401, 'Unauthorized', 'Unauthorized');
    const document = this.behaviour.documents.get(request.target) ?? this.behaviour.documents.get(path);
    if (document !== undefined)
      return request.method === 'GET' ? conditional(request, document) : status(405, 'MethodNotAllowed', '');
    const kind = this.behaviour.kinds.get(`${asked.group}/${asked.version}/${asked.resource}`);
    if (kind === undefined) return answer(404, '404 page not found\n', 'text/plain; charset=utf-8');
    if (this.world.run.now < this.overloadedUntil && !request.by.endsWith('/sync'))
      return { ...status(429, 'TooManyRequests', 'too many requests'), headers: ['retry-after', '1'] };
    this.world.invariants.arrived(this, request, asked, user);
    if (asked.isWatch) {
      this.world.run.log(`${request.by} watches ${asked.resource} at ${this.node}`);
      this.#cache?.watch({ kind, asked, reply, known: (object) => this.#decoded(kind, object) });
      return undefined;
    }
    return this.#carryOut(request, asked, kind);
  }

  /** Without the fields that this server does not know, as it reads and as it writes. */
  #decoded(kind: ResourceKind, object: StoredObject): StoredObject {
    const drops = Object.keys(object).filter((field) =>
      field.endsWith('Field') || field === 'gated' ? !this.behaviour.knows(kind, field) : false,
    );
    if (drops.length === 0) return object;
    return Object.fromEntries(
      Object.entries(object).filter(([field]) => !drops.includes(field)),
    ) as StoredObject;
  }

  #carryOut(request: ArrivedRequest, asked: TargetedRequest, kind: ResourceKind) {
    const { store, invariants } = this.world;
    const key = resourceKey(kind);
    const before = asked.name === '' ? undefined : store.get(key, asked.name);
    if (request.method === 'GET') {
      if (asked.name === '') {
        const items = store
          .list(key)
          .filter((object) => isSelected(asked, object))
          .map((object) => this.#decoded(kind, object));
        return answer(200, {
          kind: `${kind.kind}List`,
          metadata: { resourceVersion: String(store.version) },
          items,
        });
      }
      if (before !== undefined) return answer(200, { kind: kind.kind, ...this.#decoded(kind, before) });
      return status(404, 'NotFound', `${kind.resource} "${asked.name}" not found`);
    }
    const given = JSON.parse(request.body ?? '{}') as Record<string, unknown>;
    const name = asked.name || String((given['metadata'] as StoredObject['metadata'] | undefined)?.name);
    if (given['forbidden'] === true && this.behaviour.level >= policyLevel) {
      invariants.refusedByPolicy(this, request);
      return status(422, 'Invalid', 'a policy refuses it');
    }
    if (request.method === 'DELETE') {
      if (before === undefined) return status(404, 'NotFound', '');
      store.remove(key, name);
      return answer(200, { kind: 'Status', status: 'Success' });
    }
    if (request.method === 'POST' && store.get(key, name) !== undefined)
      return status(409, 'AlreadyExists', '');
    if (request.method !== 'POST' && before === undefined) return status(404, 'NotFound', '');
    const { resourceVersion } = (given['metadata'] ?? {}) as Partial<StoredObject['metadata']>;
    if (resourceVersion !== undefined && resourceVersion !== before?.metadata.resourceVersion)
      return status(409, 'Conflict', 'the object has been modified');
    const base = request.method === 'PATCH' && before !== undefined ? this.#decoded(kind, before) : {};
    const { metadata: _metadata, ...rest } = this.#decoded(kind, given as unknown as StoredObject);
    const metadata = before?.metadata ?? {};
    const object = store.put(key, name, { ...base, ...rest, metadata });
    invariants.stored({ server: this, request, kind, before, after: object });
    return answer(request.method === 'POST' ? 201 : 200, { kind: kind.kind, ...this.#decoded(kind, object) });
  }

  serves(key: string, behaviour = this.behaviour): boolean {
    return [...behaviour.kinds.values()].some((kind) => resourceKey(kind) === key);
  }

  get servesWidgets(): boolean {
    return this.serves(resourceKey(widgets));
  }
}

function conditional({ headers }: ArrivedRequest, document: ReturnType<typeof answer>) {
  const at = headers.indexOf('if-none-match');
  const etag = document.headers[document.headers.indexOf('etag') + 1];
  const isHeld = at >= 0 && document.headers.includes('etag') && headers[at + 1] === etag;
  return isHeld ? { ...document, status: 304, body: '' } : document;
}
