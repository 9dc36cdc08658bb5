import type { KubernetesObject } from '../../../demo/example-api-server/kubernetes-object.ts';
import type {
  StorageKey,
  StoredChange,
  StoreErrorCode,
  WriteOptions,
} from '../../../demo/example-api-server/store.ts';

/** What a server process asks of the process that holds the store; `since` is the newest revision it knows. */
export type StoreCall = { readonly since: number } & (
  | { readonly call: 'changes' }
  | {
      readonly call: 'create' | 'update';
      readonly key: StorageKey;
      readonly object: KubernetesObject;
      readonly options: WriteOptions;
    }
  | { readonly call: 'remove'; readonly key: StorageKey; readonly namespace: string; readonly name: string }
  | { readonly call: 'removeNamespaceContent'; readonly namespace: string }
);

export interface StoreReply {
  /** All that happened after `since`, the effect of the call included. */
  readonly changes: readonly StoredChange[];
  readonly object?: KubernetesObject;
  readonly error?: { readonly code: StoreErrorCode; readonly message: string };
}

/** File descriptors of a server process: for calls, which it waits for, and for being told that there is news. */
export const storeDescriptors = { calls: 3, news: 4 } as const;

const lengthBytes = 4;

/** A message with its length in front of it. */
export function frame(message: StoreCall | StoreReply): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(lengthBytes);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

/** The first message of `bytes`, if all of it is there, and what is behind it. */
export function unframe(
  bytes: Buffer,
): { readonly body: string; readonly rest: Buffer } | { readonly missing: number } {
  const length = bytes.length < lengthBytes ? 0 : bytes.readUInt32BE(0);
  const missing = lengthBytes + length - bytes.length;
  if (bytes.length < lengthBytes || missing > 0) return { missing };
  const end = lengthBytes + length;
  return { body: bytes.toString('utf8', lengthBytes, end), rest: bytes.subarray(end) };
}
