import type { Machine } from '../virtual/virtual-time.ts';
import { type ResourceKind, resourceKey } from './flavour.ts';
import type { Reply } from './network.ts';
import { isSelected, type TargetedRequest } from './request-target.ts';
import type { Change, StoredObject } from './store.ts';
import type { World } from './world.ts';

interface WatchRequest {
  readonly kind: ResourceKind;
  readonly asked: TargetedRequest;
  readonly reply: Reply;
  /** Object as this server knows it. */
  readonly known: (object: StoredObject) => StoredObject;
}

/** Milliseconds between two bookmarks of a watch. */
const bookmarks = 6_000;

/** Changes that one API server knows: a little later than etcd, in order. Its watches live by them. */
export class WatchCache {
  readonly #world: World;
  readonly #machine: Machine;
  readonly #node: string;
  readonly #watches = new Set<{ readonly request: WatchRequest; readonly end: () => void }>();
  readonly #unfollow: () => void;
  #version: number;
  #arrives = 0;
  isEnded = false;

  constructor(world: World, machine: Machine, node: string) {
    this.#world = world;
    this.#machine = machine;
    this.#node = node;
    this.#version = world.store.version;
    this.#unfollow = world.store.follow((change) => this.#noticed(change));
  }

  #noticed(change: Change): void {
    const { run } = this.#world;
    const { draws } = run;
    const lag = draws.next(`${this.#node}/cache`) * (draws.chance(`${this.#node}/cache`, 0.02) ? 800 : 15);
    this.#arrives = Math.max(this.#arrives, run.now + lag);
    run.at(
      this.#arrives,
      () => {
        this.#version = change.version;
        for (const { request } of this.#watches) this.#tell(request, change);
      },
      this.#machine,
    );
  }

  #tell({ kind, asked, reply, known }: WatchRequest, { type, object, resource, version }: Change): void {
    if (resource !== resourceKey(kind) || version <= asked.from || !isSelected(asked, object)) return;
    reply.data(`${JSON.stringify({ type, object: { kind: kind.kind, ...known(object) } })}\n`);
  }

  watch(request: WatchRequest): void {
    const { asked, reply, kind, known } = request;
    const { run, store } = this.#world;
    const gone = asked.from > 0 && asked.from < this.#world.compactedBefore;
    if (gone) {
      const body = {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'Expired',
        code: 410,
        message: 'too old resource version',
      };
      reply.whole(410, ['content-type', 'application/json'], JSON.stringify(body));
      return;
    }
    reply.head(200, ['content-type', 'application/json']);
    if (asked.from === 0) {
      for (const object of store.list(resourceKey(kind)).filter((each) => isSelected(asked, each)))
        reply.data(`${JSON.stringify({ type: 'ADDED', object: { kind: kind.kind, ...known(object) } })}\n`);
    } else {
      for (const change of store.history) if (change.version <= this.#version) this.#tell(request, change);
    }
    const watch = {
      request,
      end: () => {
        if (this.#watches.delete(watch)) reply.end();
      },
    };
    this.#watches.add(watch);
    reply.onGone(() => this.#watches.delete(watch));
    const bookmark = (): void => {
      if (!this.#watches.has(watch)) return;
      const object = {
        kind: kind.kind,
        metadata: { resourceVersion: String(Math.max(this.#version, asked.from)) },
      };
      reply.data(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
      run.after(bookmarks, bookmark, this.#machine);
    };
    run.after(bookmarks, bookmark, this.#machine);
    if (Number.isFinite(asked.lifetime)) run.after(asked.lifetime, watch.end, this.#machine);
  }

  /** Ends the watches of the server, all in order. */
  end(): void {
    this.isEnded = true;
    for (const watch of [...this.#watches]) watch.end();
  }

  /** With its process. */
  stop(): void {
    this.#unfollow();
    this.#watches.clear();
  }
}
