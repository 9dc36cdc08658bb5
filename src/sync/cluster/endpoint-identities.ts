import { type BackOff, backOffDelay, type Clock, createLimiter } from '../../runtime/time.ts';
import { withReadTimeout } from '../documents/server-documents.ts';
import type { ApiEndpoint } from './api-endpoints.ts';
import { serverIdsOf } from './server-id.ts';

/** Milliseconds. */
export interface IdentityTiming {
  /** For reading the certificate of one endpoint. Default 5,000. */
  readonly identityTimeout: number;
  /** How often an endpoint's certificate is read again: certificates are renewed. Default 600,000. */
  readonly identityRefresh: number;
  readonly identityBackOff: BackOff;
}

export interface EndpointIdentitiesOptions {
  /** The DNS names in the serving certificate of the API server at `address`. Rejects if there is none. */
  readonly servingNames: (address: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly timing: IdentityTiming;
  /** Called when the IDs of an endpoint have changed. */
  readonly onChange: () => void;
}

interface Identity {
  ids: readonly string[];
  failures: number;
  /** By the monotonic clock. */
  dueAt: number;
  underWay: Promise<void> | undefined;
}

/** More names than the certificate of any API server has. */
const maximumNames = 100;
/** Endpoints read at once. */
const concurrentEndpoints = 8;

/**
 * Finds the server IDs of endpoints. kube-apiserver writes only its IP address into the EndpointSlice, and its Lease
 * names its host. Its serving certificate connects the two: installers issue it for both.
 */
export function createEndpointIdentities(options: EndpointIdentitiesOptions) {
  const { clock, timing, servingNames } = options;
  const limit = createLimiter(concurrentEndpoints);
  const identities = new Map<string, Identity>();

  async function identify({ address, hostnames }: ApiEndpoint, identity: Identity, signal: AbortSignal) {
    let names: readonly string[] = [];
    try {
      names = await limit(() =>
        withReadTimeout(timing.identityTimeout, signal, (deadline) => servingNames(address, deadline)),
      );
      identity.failures = 0;
      identity.dueAt = clock.monotonic() + timing.identityRefresh;
    } catch {
      // The reader of the server reports the failure; here the endpoint only stays without a name.
      if (signal.aborted) return;
      identity.failures++;
      const wait = backOffDelay(timing.identityBackOff, identity.failures, clock.random());
      identity.dueAt = clock.monotonic() + wait;
      if (identity.ids.length > 0) return;
    }
    const candidates = [...new Set([...hostnames, ...names])].slice(0, maximumNames);
    const ids = (await Promise.all(candidates.map(serverIdsOf))).flat();
    const hasChanged = ids.join() !== identity.ids.join();
    identity.ids = ids;
    if (hasChanged && !signal.aborted) options.onChange();
  }

  return {
    /**
     * Reads the certificates that are due, and forgets endpoints that are gone.
     * @returns when all have been read. Never rejects.
     */
    async resolve(endpoints: readonly ApiEndpoint[], signal: AbortSignal): Promise<void> {
      const addresses = new Set(endpoints.map(({ address }) => address));
      for (const address of identities.keys()) if (!addresses.has(address)) identities.delete(address);
      const now = clock.monotonic();
      const underWay = endpoints.map((endpoint) => {
        const identity: Identity = identities.get(endpoint.address) ?? {
          ids: [],
          failures: 0,
          dueAt: Number.NEGATIVE_INFINITY,
          underWay: undefined,
        };
        identities.set(endpoint.address, identity);
        if (identity.underWay === undefined && now >= identity.dueAt) {
          identity.underWay = identify(endpoint, identity, signal).finally(() => {
            identity.underWay = undefined;
          });
        }
        return identity.underWay;
      });
      await Promise.all(underWay);
    },
    /** Server IDs by address. */
    serverIds: (): ReadonlyMap<string, readonly string[]> =>
      new Map([...identities].map(([address, { ids }]) => [address, ids])),
  };
}
