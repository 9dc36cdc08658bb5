import { storeTimeout, withinStoreTimeout } from '../../snapshot/receiving/shared-snapshot-store.ts';
import type { DurableObjectNamespace } from './bindings.ts';

/**
 * Sends a request to the Durable Object `name`.
 * @param what it is called in errors. @param url whose host is never resolved: a stub hands on the path alone
 * @throws {Error} when it does not respond in time, among others
 */
export function askDurableObject(
  namespace: DurableObjectNamespace,
  name: string,
  what: string,
  url: string,
  init: RequestInit,
): Promise<Response> {
  // A new stub each time: one that has met an error stays broken (developers.cloudflare.com/durable-objects).
  const stub = namespace.get(namespace.idFromName(name));
  const signal = AbortSignal.timeout(storeTimeout);
  return withinStoreTimeout(what, stub.fetch(url, { ...init, signal }));
}
