import { randomUUID } from 'node:crypto';
import { equalJson, type KubernetesObject, type ObjectMeta } from './kubernetes-object.ts';

/** Which resource: by the group it is stored under, which need not be the group it is served under. */
export interface StorageKey {
  readonly group: string;
  readonly resource: string;
}

export interface StoredEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The revision this change made, which is also the resourceVersion of `object`. */
  readonly revision: number;
  readonly object: KubernetesObject;
  /** Before the change; absent for ADDED. A selector may have matched it though it does not match `object`. */
  readonly previous?: KubernetesObject;
}

/** A change with the resource it happened to, as copies of the store in other processes are told of it. */
export interface StoredChange {
  readonly key: StorageKey;
  readonly event: StoredEvent;
}

export type StoreErrorCode = 'AlreadyExists' | 'NotFound' | 'Conflict' | 'Expired';

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  constructor(code: StoreErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export interface StoreOptions {
  readonly now?: () => Date;
  /** How many changes a watch can go back; older ones are compacted away. Default 10,000. */
  readonly historyLimit?: number;
  /** A copy that begins with nothing and is filled by `apply`. */
  readonly empty?: boolean;
}

/** `dryRun`: everything is checked and the outcome returned, but nothing is stored. */
export interface WriteOptions {
  readonly dryRun?: boolean;
}

/** Namespaces that a cluster has before any client comes. */
const initialNamespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

const namespaces: StorageKey = { group: '', resource: 'namespaces' };

/**
 * One memory that all example servers share, as kube-apiservers share etcd: every change makes a revision,
 * and the revision is the resourceVersion. Objects are kept in the storage version of the server that wrote
 * them; the server that reads one puts the version asked for on it (storage-version.ts).
 */
export class ExampleStore {
  readonly #objects = new Map<string, Map<string, KubernetesObject>>();
  readonly #history: { readonly storage: string; readonly event: StoredEvent }[] = [];
  readonly #listeners = new Map<string, Set<(event: StoredEvent) => void>>();
  readonly #changeListeners = new Set<() => void>();
  readonly #now: () => Date;
  readonly #historyLimit: number;
  #revision = 1;
  #compactedRevision = 0;

  constructor(options: StoreOptions = {}) {
    this.#now = options.now ?? (() => new Date());
    this.#historyLimit = options.historyLimit ?? 10_000;
    if (options.empty === true) return;
    for (const name of initialNamespaces) this.create(namespaces, namespaceObject(name));
  }

  /** The newest revision. */
  get revision(): number {
    return this.#revision;
  }

  /** Time of the clock, in the form of metav1.Time. */
  timestamp(): string {
    return this.#now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
  }

  /** Time of the clock, in the form of metav1.MicroTime. */
  microTimestamp(): string {
    return this.#now().toISOString().replace('Z', '000Z');
  }

  get(key: StorageKey, namespace: string, name: string): KubernetesObject | undefined {
    return this.#objects.get(storageOf(key))?.get(`${namespace}/${name}`);
  }

  /** In the order of namespace and name, as etcd has its keys. An empty `namespace` means all. */
  list(key: StorageKey, namespace = ''): KubernetesObject[] {
    const all = [...(this.#objects.get(storageOf(key)) ?? [])].sort(([left], [right]) =>
      left < right ? -1 : 1,
    );
    return all
      .map(([, object]) => object)
      .filter((object) => namespace === '' || object.metadata.namespace === namespace);
  }

  namespaceExists(name: string): boolean {
    return this.get(namespaces, '', name) !== undefined;
  }

  /**
   * Adds uid, creationTimestamp and resourceVersion, and stores the object.
   * @throws {StoreError} AlreadyExists
   */
  create(key: StorageKey, object: KubernetesObject, options: WriteOptions = {}): KubernetesObject {
    const path = pathOf(object.metadata);
    if (this.#objects.get(storageOf(key))?.has(path) === true) {
      throw new StoreError('AlreadyExists', `${storageOf(key)} ${path} exists`);
    }
    const uid = randomUUID();
    const stored = withMetadata(object, { uid, creationTimestamp: this.timestamp() });
    return options.dryRun === true ? stored : this.#record(key, 'ADDED', stored);
  }

  /**
   * Replaces an object that is there; its uid and creationTimestamp stay.
   * @throws {StoreError} NotFound; Conflict when `object` carries another resourceVersion or uid than the
   *   stored one has (optimistic concurrency; an empty one asks for nothing).
   */
  update(key: StorageKey, object: KubernetesObject, options: WriteOptions = {}): KubernetesObject {
    const current = this.#existing(key, object.metadata);
    const { resourceVersion, uid } = object.metadata;
    if (differs(resourceVersion, current.metadata.resourceVersion) || differs(uid, current.metadata.uid)) {
      throw new StoreError('Conflict', `${storageOf(key)} ${pathOf(object.metadata)} was modified`);
    }
    const { creationTimestamp, resourceVersion: before } = current.metadata;
    const changed = withMetadata(object, {
      uid: current.metadata.uid,
      creationTimestamp,
      resourceVersion: before,
    });
    // A write that changes nothing makes no revision, as in kube-apiserver.
    if (options.dryRun === true || equalJson(changed, current)) return changed;
    return this.#record(key, 'MODIFIED', changed, current);
  }

  /** @throws {StoreError} NotFound */
  remove(key: StorageKey, namespace: string, name: string): KubernetesObject {
    const current = this.#existing(key, { namespace, name });
    return this.#record(key, 'DELETED', current, current);
  }

  /** Removes everything in a namespace, whatever its resource. */
  removeNamespaceContent(namespace: string): void {
    for (const [storage, objects] of this.#objects) {
      for (const object of [...objects.values()]) {
        if (object.metadata.namespace !== namespace) continue;
        this.remove(keyOf(storage), namespace, object.metadata.name ?? '');
      }
    }
  }

  /**
   * The changes after `revision`, oldest first.
   * @throws {StoreError} Expired when some of them are compacted away.
   */
  eventsSince(key: StorageKey, revision: number): StoredEvent[] {
    if (revision < this.#compactedRevision) {
      throw new StoreError('Expired', `too old resource version: ${revision} (${this.#compactedRevision})`);
    }
    const storage = storageOf(key);
    return this.#history
      .filter((entry) => entry.storage === storage && entry.event.revision > revision)
      .map(({ event }) => event);
  }

  /** Calls `listener` for each further change of the resource, until the returned function is called. */
  subscribe(key: StorageKey, listener: (event: StoredEvent) => void): () => void {
    const storage = storageOf(key);
    const listeners = this.#listeners.get(storage) ?? new Set();
    this.#listeners.set(storage, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** Calls `listener` after every change of whatever resource, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  /**
   * The changes of all resources after `revision`, oldest first.
   * @throws {StoreError} Expired when some of them are compacted away.
   */
  changesSince(revision: number): StoredChange[] {
    if (revision < this.#compactedRevision) {
      throw new StoreError('Expired', `changes after revision ${revision} are compacted away`);
    }
    // Every change makes one revision, so the place of a change follows from its number.
    const first = this.#history[0]?.event.revision ?? 0;
    return this.#history
      .slice(Math.max(0, revision + 1 - first))
      .map(({ storage, event }) => ({ key: keyOf(storage), event }));
  }

  /** Brings a copy up to date with the store that `changes` are of; what it has already is passed over. */
  apply(changes: readonly StoredChange[]): void {
    for (const { key, event } of changes) {
      if (event.revision <= this.#revision) continue;
      this.#revision = event.revision;
      this.#keep(storageOf(key), event);
    }
  }

  /** Forgets all changes up to now, as `etcdctl compact` does: watches from before get 410 Expired. */
  compact(): void {
    this.#history.length = 0;
    this.#compactedRevision = this.#revision;
  }

  #existing(key: StorageKey, metadata: ObjectMeta): KubernetesObject {
    const found = this.#objects.get(storageOf(key))?.get(pathOf(metadata));
    if (found === undefined) {
      throw new StoreError('NotFound', `${storageOf(key)} ${pathOf(metadata)} is not there`);
    }
    return found;
  }

  #record(
    key: StorageKey,
    type: StoredEvent['type'],
    object: KubernetesObject,
    previous?: KubernetesObject,
  ): KubernetesObject {
    this.#revision += 1;
    const storage = storageOf(key);
    const stored = withMetadata(object, { resourceVersion: String(this.#revision) });
    this.#keep(storage, {
      type,
      revision: this.#revision,
      object: stored,
      ...(previous === undefined ? {} : { previous }),
    });
    return stored;
  }

  #keep(storage: string, event: StoredEvent): void {
    const objects = this.#objects.get(storage) ?? new Map<string, KubernetesObject>();
    this.#objects.set(storage, objects);
    const path = pathOf(event.object.metadata);
    if (event.type === 'DELETED') objects.delete(path);
    else objects.set(path, event.object);
    this.#history.push({ storage, event });
    while (this.#history.length > this.#historyLimit) {
      this.#compactedRevision = this.#history.shift()?.event.revision ?? this.#compactedRevision;
    }
    for (const listener of [...(this.#listeners.get(storage) ?? [])]) listener(event);
    for (const listener of this.#changeListeners) listener();
  }
}

/** A copy of `object` whose metadata has `fields` on top of what it has. */
export function withMetadata(
  object: KubernetesObject,
  fields: Readonly<Record<string, string | undefined>>,
): KubernetesObject {
  const metadata: Record<string, ObjectMeta[string]> = { ...object.metadata };
  for (const [field, value] of Object.entries(fields)) if (value !== undefined) metadata[field] = value;
  return { ...object, metadata };
}

function namespaceObject(name: string): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
}

function storageOf({ group, resource }: StorageKey): string {
  return `${group}/${resource}`;
}

function keyOf(storage: string): StorageKey {
  const slash = storage.lastIndexOf('/');
  return { group: storage.slice(0, slash), resource: storage.slice(slash + 1) };
}

function pathOf({ namespace = '', name = '' }: ObjectMeta): string {
  return `${namespace}/${name}`;
}

function differs(wanted: string | undefined, actual: string | undefined): boolean {
  return wanted !== undefined && wanted !== '' && wanted !== actual;
}
