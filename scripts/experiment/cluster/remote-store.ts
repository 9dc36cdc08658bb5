import { readSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { KubernetesObject } from '../../../demo/example-api-server/kubernetes-object.ts';
import {
  ExampleStore,
  type StorageKey,
  type StoredEvent,
  StoreError,
  type WriteOptions,
} from '../../../demo/example-api-server/store.ts';
import { frame, type StoreCall, type StoreReply, storeDescriptors, unframe } from './store-calls.ts';

/**
 * The store of a server process: a copy of the one in the process that started it, as a watch cache is a copy of
 * etcd. Writes are made there, and gets and lists first ask for what is new, so that servers agree as over one etcd.
 *
 * Calls block the process: the example server takes its store to be memory. They answer within a millisecond.
 */
export class RemoteStore extends ExampleStore {
  constructor() {
    super({ historyLimit: Number.POSITIVE_INFINITY, empty: true });
    this.#refresh();
    new Socket({ fd: storeDescriptors.news, readable: true, writable: false })
      .on('data', () => this.#refresh())
      // The process that holds the store is gone, and with it the cluster.
      .on('close', () => process.exit(1));
  }

  override get(key: StorageKey, namespace: string, name: string): KubernetesObject | undefined {
    this.#refresh();
    return super.get(key, namespace, name);
  }

  /** The revision afterwards is that of the list: nothing is taken over in between. */
  override list(key: StorageKey, namespace = ''): KubernetesObject[] {
    this.#refresh();
    return super.list(key, namespace);
  }

  /** What is newer arrives as news: thousands of watches that come back at once need not ask for it each. */
  override eventsSince(key: StorageKey, revision: number): StoredEvent[] {
    if (revision > this.revision) this.#refresh();
    return super.eventsSince(key, revision);
  }

  override create(key: StorageKey, object: KubernetesObject, options: WriteOptions = {}): KubernetesObject {
    return this.#object({ since: this.revision, call: 'create', key, object, options });
  }

  override update(key: StorageKey, object: KubernetesObject, options: WriteOptions = {}): KubernetesObject {
    return this.#object({ since: this.revision, call: 'update', key, object, options });
  }

  override remove(key: StorageKey, namespace: string, name: string): KubernetesObject {
    return this.#object({ since: this.revision, call: 'remove', key, namespace, name });
  }

  override removeNamespaceContent(namespace: string): void {
    this.#call({ since: this.revision, call: 'removeNamespaceContent', namespace });
  }

  #refresh(): void {
    this.#call({ since: this.revision, call: 'changes' });
  }

  #object(call: StoreCall): KubernetesObject {
    const { object } = this.#call(call);
    if (object === undefined) throw new Error(`the store answered ${call.call} without an object`);
    return object;
  }

  #call(call: StoreCall): StoreReply {
    writeAll(frame(call));
    const reply: StoreReply = JSON.parse(readMessage());
    this.apply(reply.changes);
    if (reply.error !== undefined) throw new StoreError(reply.error.code, reply.error.message);
    return reply;
  }
}

function writeAll(bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(storeDescriptors.calls, bytes, written);
  }
}

/** One call is under way at a time, so that what arrives is its reply and nothing behind it. */
function readMessage(): string {
  let received = Buffer.alloc(0);
  for (;;) {
    const message = unframe(received);
    if ('body' in message) return message.body;
    const piece = Buffer.alloc(Math.max(message.missing, 1));
    const length = readSync(storeDescriptors.calls, piece);
    // The process that holds the store is gone, and with it the cluster.
    if (length === 0) process.exit(1);
    received = Buffer.concat([received, piece.subarray(0, length)]);
  }
}
