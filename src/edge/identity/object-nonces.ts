import type { Admission } from '../../identity/assertion/replay-window.ts';
import type { SharedNonces } from '../../identity/assertion/shared-nonces.ts';
import { storeTimeout, withinStoreTimeout } from '../../snapshot/receiving/shared-snapshot-store.ts';
import type { DurableObjectNamespace } from '../platform/bindings.ts';
import { admissionStatus } from './replay-object.ts';

const admissions: readonly Admission[] = ['fresh', 'replayed', 'full'];

/** Nonces in Durable Objects of the class `ReplayObject`: one for each issuer, so that one that floods stops only itself. */
export function createObjectNonces(namespace: DurableObjectNamespace): SharedNonces {
  return {
    async take(issuer, nonce, deadline) {
      // A new stub each time: one that has met an error stays broken (developers.cloudflare.com/durable-objects).
      const stub = namespace.get(namespace.idFromName(issuer));
      // Nobody resolves the host. A nonce has base64url characters alone (assertion-claims.ts).
      const url = `https://replay-object/${nonce}?deadline=${deadline}`;
      const signal = AbortSignal.timeout(storeTimeout);
      const asked = stub.fetch(url, { method: 'PUT', signal });
      const { status, body } = await withinStoreTimeout('the Durable Object of nonces', asked);
      await body?.cancel();
      const admission = admissions.find((each) => admissionStatus[each] === status);
      if (admission === undefined)
        throw new Error(`the Durable Object of nonces responded with status ${status}`);
      return admission;
    },
  };
}
