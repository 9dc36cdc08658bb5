/** An object of the cluster: names, fields and all. */
export interface StoredObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string } & Readonly<
    Record<string, unknown>
  >;
  readonly [field: string]: unknown;
}

export interface Change {
  readonly version: number;
  readonly resource: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: StoredObject;
}

/** State that all API servers share: etcd. */
export class Store {
  /** Version of the last change. */
  version = 100;
  readonly history: Change[] = [];
  /** Milliseconds of virtual time until which nothing is answered. */
  hangsUntil = 0;
  readonly #objects = new Map<string, Map<string, StoredObject>>();
  readonly #listeners = new Set<(change: Change) => void>();

  get(resource: string, name: string): StoredObject | undefined {
    return this.#objects.get(resource)?.get(name);
  }

  list(resource: string): readonly StoredObject[] {
    return [...(this.#objects.get(resource)?.values() ?? [])];
  }

  put(resource: string, name: string, fields: Readonly<Record<string, unknown>>): StoredObject {
    const objects = this.#objects.get(resource) ?? new Map<string, StoredObject>();
    this.#objects.set(resource, objects);
    const type = objects.has(name) ? 'MODIFIED' : 'ADDED';
    this.version++;
    const given = (fields['metadata'] ?? {}) as Readonly<Record<string, unknown>>;
    const object = { ...fields, metadata: { ...given, name, resourceVersion: String(this.version) } };
    objects.set(name, object);
    this.#changed({ version: this.version, resource, type, object });
    return object;
  }

  remove(resource: string, name: string): void {
    const object = this.get(resource, name);
    if (object === undefined) return;
    this.#objects.get(resource)?.delete(name);
    this.version++;
    const gone = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.version) } };
    this.#changed({ version: this.version, resource, type: 'DELETED', object: gone });
  }

  /** @returns a function that ends it */
  follow(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(change: Change): void {
    this.history.push(change);
    for (const listener of [...this.#listeners]) listener(change);
  }
}
