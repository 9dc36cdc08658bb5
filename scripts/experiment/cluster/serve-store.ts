import type { Duplex, Writable } from 'node:stream';
import type { KubernetesObject } from '../../../demo/example-api-server/kubernetes-object.ts';
import { type ExampleStore, StoreError } from '../../../demo/example-api-server/store.ts';
import { frame, type StoreCall, type StoreReply, unframe } from './store-calls.ts';

/** Lets a server process use the store; ends with the process. */
export function serveStore(store: ExampleStore, calls: Duplex, news: Writable): void {
  let received: Buffer = Buffer.alloc(0);
  calls.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (let message = unframe(received); 'body' in message; message = unframe(received)) {
      received = message.rest;
      calls.write(frame(answer(store, JSON.parse(message.body))));
    }
  });
  let isTold = false;
  const stopTelling = store.onChange(() => {
    if (isTold) return;
    isTold = true;
    // Once for all changes of this turn.
    setImmediate(() => {
      isTold = false;
      if (news.writable) news.write('\n');
    });
  });
  // A process that is killed takes both ends along.
  for (const pipe of [calls, news]) pipe.on('error', () => undefined).on('close', stopTelling);
}

function answer(store: ExampleStore, call: StoreCall): StoreReply {
  try {
    const object = perform(store, call);
    return { changes: store.changesSince(call.since), ...(object === undefined ? {} : { object }) };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const { code, message } = error;
    return { changes: store.changesSince(call.since), error: { code, message } };
  }
}

function perform(store: ExampleStore, call: StoreCall): KubernetesObject | undefined {
  switch (call.call) {
    case 'changes':
      return undefined;
    case 'create':
      return store.create(call.key, call.object, call.options);
    case 'update':
      return store.update(call.key, call.object, call.options);
    case 'remove':
      return store.remove(call.key, call.namespace, call.name);
    case 'removeNamespaceContent':
      store.removeNamespaceContent(call.namespace);
      return undefined;
  }
}
