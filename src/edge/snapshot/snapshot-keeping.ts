import { isRead } from '../../request/inbound.ts';
import { readText } from '../../runtime/bytes.ts';
import { defaultLogger } from '../../runtime/console-logger.ts';
import type { Logger } from '../../runtime/logger.ts';
import { withDeadline } from '../../runtime/time.ts';
import { sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import { SnapshotError } from '../../snapshot/format/snapshot-error.ts';
import { readStoredSets } from '../../snapshot/format/stored-sets.ts';
import {
  type Acceptance,
  type FromStore,
  type Held,
  SnapshotReceiver,
  type SnapshotReceiverOptions,
} from '../../snapshot/receiving/receiver.ts';
import {
  createMemorySnapshotStore,
  type SnapshotStore,
  StoreChangedError,
} from '../../snapshot/receiving/snapshot-store.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { PinnedKeySet } from '../../snapshot/signing/keys.ts';
import { partsOfSealed } from '../../snapshot/signing/open-sealed.ts';
import type { DurableObjectNamespace, WaitUntil } from '../platform/bindings.ts';

/** Written in its place by the bundler (scripts/worker/bundle-worker.ts): a digest of the Worker's code. */
declare const workerProgram: string | undefined;

/** The program that runs here; `undefined`: nobody can say, as it was not built by `npm run build -- --worker`. */
const program = typeof workerProgram === 'string' ? workerProgram : undefined;

/** A stored snapshot, with a tag that changes with every write. */
interface TaggedSnapshot {
  readonly tag: string;
  /** `undefined`: nothing is stored. */
  readonly stored: string | undefined;
}

/**
 * A store that the isolates of a Worker share. Each writes only over what it knows: `save` replaces what the receiver has last
 * taken note of, and fails with `StoreChangedError` when another was quicker. That keeps a generation from falling.
 */
export interface SharedSnapshotStore extends SnapshotStore {
  /** The stored snapshot, if it differs from the one that was last noted. Does not note it. */
  changed(): Promise<TaggedSnapshot | undefined>;
  /** From now on `save` replaces this. */
  takeNoteOf(tag: string): void;
}

/** Milliseconds for one exchange with the store; a request must not hang with it. */
const storeTimeout = 5_000;

/** @throws {Error} when `work` has not ended in time. */
function withinStoreTimeout<Result>(what: string, work: Promise<Result>): Promise<Result> {
  const timedOut = () => new Error(`${what} did not respond within ${storeTimeout} ms`);
  return withDeadline(storeTimeout, undefined, timedOut, () => work);
}

const attempts = 5;

export interface SharingReceiverOptions extends SnapshotReceiverOptions {
  readonly store: SharedSnapshotStore;
  /** Milliseconds. Default `performance.now`. */
  readonly monotonicClock?: () => number;
  /** The program that runs here: what it has checked, it need not check again in another isolate. Default: it is not known. */
  readonly program?: string | undefined;
}

/** Before it takes a push it reads what the others have stored, which passes the same checks. */
export class SharingReceiver extends SnapshotReceiver {
  readonly #store: SharedSnapshotStore;
  readonly #monotonicClock: () => number;
  readonly #program: string | undefined;
  #confirmedAt: number | undefined;

  constructor(options: SharingReceiverOptions) {
    super({ ...options, isStoreShared: true });
    this.#store = options.store;
    this.#program = options.program;
    this.#monotonicClock = options.monotonicClock ?? (() => performance.now());
  }

  confirmedAt(): number | undefined {
    return this.#confirmedAt;
  }

  override accept(jws: string): Promise<Acceptance> {
    return this.#knowingTheOthers(() => super.accept(jws));
  }

  /** @throws when the store cannot be read */
  async catchUp(): Promise<void> {
    const begunAt = this.#monotonicClock();
    const change = await this.#store.changed();
    if (change !== undefined) {
      if (change.stored !== undefined) await this.adopt(change.stored);
      // Also when it was refused: an unusable snapshot may be replaced, and is not read again.
      this.#store.takeNoteOf(change.tag);
    }
    this.#confirmedAt = Math.max(begunAt, this.#confirmedAt ?? begunAt);
  }

  protected override async textOf(held: Held): Promise<string> {
    if (this.#program === undefined) return super.textOf(held);
    // Only who is pushed to needs it.
    const { storedSets } = await import('../../snapshot/format/write-stored-sets.ts');
    const text = `${held.jws}\n${await storedSets(held.table.snapshot.servedSets, this.#program)}`;
    return text.length > sealedSnapshotLimit ? super.textOf(held) : text;
  }

  protected override async fromStore(stored: string): Promise<FromStore> {
    const { jws, sets = '' } = partsOfSealed(stored);
    const { checked, text = sets } = (await readStoredSets(sets, this.#program ?? '')) ?? {};
    if (checked !== undefined) return { sealed: jws, checked };
    return { sealed: text === sets ? stored : `${jws}\n${text}` };
  }

  async #knowingTheOthers(take: () => Promise<Acceptance>): Promise<Acceptance> {
    for (let attempt = 1; ; attempt++) {
      // With the store away a push still counts here, and the response says that it was not stored.
      await this.catchUp().catch(() => undefined);
      try {
        return await take();
      } catch (error) {
        if (!(error instanceof StoreChangedError)) throw error;
        if (attempt < attempts) continue;
        const message = 'Other pushes kept coming first; push it again.';
        const refusal = new SnapshotError('NotNewer', message, { cause: error });
        this.tellOfRefusal(refusal);
        throw refusal;
      }
    }
  }
}

/** The host is never resolved: a stub hands on the path alone. */
const url = 'https://snapshot-object/';
const nothingStored = '';

function createDurableObjectStore(namespace: DurableObjectNamespace, name: string): SharedSnapshotStore {
  let knownTag = nothingStored;

  const ask = (init: RequestInit): Promise<Response> => {
    // A new stub each time: one that has met an error stays broken (developers.cloudflare.com/durable-objects).
    const stub = namespace.get(namespace.idFromName(name));
    const signal = AbortSignal.timeout(storeTimeout);
    return withinStoreTimeout('the Durable Object', stub.fetch(url, { ...init, signal }));
  };

  async function read(tag: string): Promise<TaggedSnapshot | undefined> {
    const response = await ask({ headers: tag === nothingStored ? {} : { 'if-none-match': tag } });
    if (response.status === 304) return undefined;
    if (response.status === 404) {
      await response.body?.cancel();
      return tag === nothingStored ? undefined : { tag: nothingStored, stored: undefined };
    }
    const text =
      response.status === 200 && response.body !== null
        ? await readText(response.body, sealedSnapshotLimit)
        : undefined;
    if (text === undefined) throw new Error(`the Durable Object responded with status ${response.status}`);
    return { tag: response.headers.get('etag') ?? nothingStored, stored: text };
  }

  return {
    changed: () => read(knownTag),
    takeNoteOf(tag) {
      knownTag = tag;
    },
    load: async () => (await read(nothingStored))?.stored,
    async save(stored) {
      const headers: Record<string, string> =
        knownTag === nothingStored ? { 'if-none-match': '*' } : { 'if-match': knownTag };
      const response = await ask({ method: 'PUT', headers, body: stored });
      await response.body?.cancel();
      if (response.status === 412) throw new StoreChangedError();
      if (response.status !== 204)
        throw new Error(`the Durable Object responded with status ${response.status}`);
      knownTag = response.headers.get('etag') ?? nothingStored;
    },
  };
}

export interface SharedSnapshotsOptions extends Pick<SnapshotReceiverOptions, 'addressPolicy' | 'logger'> {
  /** Public keys that snapshots may be signed with: `parseSnapshotKeys`. */
  readonly keys: PinnedKeySet;
  /** The binding of the class `SnapshotObject`. Default: each isolate keeps its own snapshot. */
  readonly object?: DurableObjectNamespace | undefined;
  /** Name of the object in the namespace. Default `snapshot`; another name is another object, which is empty. */
  readonly objectName?: string | undefined;
  /** Sealed; what an isolate begins with. */
  readonly initial?: string | undefined;
}

export interface SharedSnapshots {
  /** The receiver that requests are routed by, and snapshots are pushed to. */
  readonly receiver: SharingReceiver;
  /** To be called, and waited for, before each request with its method. Never rejects. */
  readonly beforeRequest: (method: string, waitUntil: WaitUntil) => Promise<void> | undefined;
}

/** The snapshot of a Worker, which all its isolates share through one Durable Object. To be made once in each isolate. */
export async function createSharedSnapshots({
  keys,
  addressPolicy,
  object,
  objectName = 'snapshot',
  initial,
  logger = defaultLogger,
}: SharedSnapshotsOptions): Promise<SharedSnapshots> {
  const store = object === undefined ? createIsolateStore() : createDurableObjectStore(object, objectName);
  const receiver: SharingReceiver = new SharingReceiver({
    keys: () => keys,
    addressPolicy,
    store,
    logger,
    program,
    // Others may have known since the last look what that look has not found.
    serverConfirmedAt() {
      const lookedAt = receiver.confirmedAt();
      return lookedAt && performance.timeOrigin + lookedAt;
    },
  });
  if (initial !== undefined) await receiver.adopt(initial.trim());
  return { receiver, beforeRequest: createSnapshotRefresh(receiver, logger) };
}

function createIsolateStore(): SharedSnapshotStore {
  return { ...createMemorySnapshotStore(), changed: async () => undefined, takeNoteOf() {} };
}

/** How old an isolate's knowledge may be, milliseconds since a look at the store found nothing newer, or what is used now. */
interface Bounds {
  /** From then on a look is begun behind a request. */
  readonly lookAt: number;
  /** From then on a request waits for a look of its own. */
  readonly waitAt: number;
}

/** Less than `versionSettlesFor`: no isolate still sends to the version of before when others send to the next one. */
const whereVersionsMatter: Bounds = { lookAt: 1_000, waitAt: 1_500 };
/** One object serves all isolates everywhere: where nothing is to differ it is asked less often. */
const elsewhere: Bounds = { lookAt: 5_000, waitAt: 10_000 };
/** For so long nobody waits for a store that has just failed: what is not confirmed is the decision's to judge. */
const failedFor = 1_000;

function boundsFor(method: string, table: RoutingTable | undefined): Bounds {
  const mayMatter = table === undefined || table.comparison !== undefined || !isRead(method);
  return mayMatter ? whereVersionsMatter : elsewhere;
}

/**
 * Keeps the snapshot of an isolate up to date, without a process in the background. An isolate that has rested knows nothing
 * newer than before: a request waits for a look when the last one is too long ago for what it asks.
 *
 * No look is shared between requests: on Workers it belongs to the request that began it.
 *
 * @param now milliseconds of the receiver's monotonic clock
 * @returns to be called for each request; what it has to wait for, `undefined` when that is nothing. Never rejects.
 */
export function createSnapshotRefresh(
  receiver: Pick<SharingReceiver, 'current' | 'catchUp' | 'confirmedAt'>,
  logger: Logger,
  now: () => number = () => performance.now(),
): (method: string, waitUntil: WaitUntil) => Promise<void> | undefined {
  let begunAt = Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    begunAt = now();
    try {
      await receiver.catchUp();
    } catch (error) {
      failedAt = now();
      logger.warn({ err: error }, 'The store of snapshots cannot be read: the one at hand stays in use');
    }
  }

  /** A client that leaves ends its request, and the receiver's next turn waits for the look that the request began. */
  function lookToTheEnd(waitUntil: WaitUntil): Promise<void> {
    const looking = look();
    waitUntil(looking);
    return looking;
  }

  return (method, waitUntil) => {
    const age = now() - (receiver.confirmedAt() ?? Number.NEGATIVE_INFINITY);
    const { lookAt, waitAt } = boundsFor(method, receiver.current());
    if (age >= waitAt && now() - failedAt >= failedFor) return lookToTheEnd(waitUntil);
    if (age >= lookAt && now() - begunAt >= whereVersionsMatter.lookAt) void lookToTheEnd(waitUntil);
    return undefined;
  };
}
