import { type BackOff, backOffDelay, type Clock } from '../../runtime/clock.ts';
import { withDeadline } from '../../runtime/deadline.ts';
import { createLimiter } from '../../runtime/limiter.ts';
import type { ApiEndpoint } from './api-endpoints.ts';
import { serverIdsOf } from './server-id.ts';

export interface EndpointIdentitiesOptions {
  /** The DNS names in the serving certificate of who answers at `address`. Rejects when nobody does. */
  readonly servingNames: (address: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly clock: Clock;
  /** Endpoints asked at once. */
  readonly concurrency: number;
  /** For one endpoint, milliseconds. */
  readonly timeoutMilliseconds: number;
  readonly backOff: BackOff;
  /** An endpoint that was asked is asked again after this time: certificates are renewed. */
  readonly refreshMilliseconds: number;
  /** Called when IDs of an endpoint have become known. */
  readonly onChange: () => void;
}

/**
 * Finds out which server IDs endpoints lead to. kube-apiserver puts nothing but its IP address into the
 * EndpointSlice, and its Lease names its host; what ties them together is its own serving certificate, which
 * installers issue for both.
 */
export interface EndpointIdentities {
  /**
   * Asks the endpoints that are due, and forgets those that are gone.
   * @returns when all of them were asked. Never rejects.
   */
  resolve(endpoints: readonly ApiEndpoint[], signal: AbortSignal): Promise<void>;
  /** Server IDs by address. */
  serverIds(): ReadonlyMap<string, readonly string[]>;
}

interface Identity {
  ids: readonly string[];
  failures: number;
  /** By the monotonic clock. */
  dueAt: number;
  underWay: Promise<void> | undefined;
}

/** A certificate for all services of a host is no API server's. */
const maximumNames = 100;

export function createEndpointIdentities(options: EndpointIdentitiesOptions): EndpointIdentities {
  const { clock, servingNames, timeoutMilliseconds } = options;
  const limit = createLimiter(options.concurrency);
  const identities = new Map<string, Identity>();

  async function ask({ address, hostnames }: ApiEndpoint, identity: Identity, signal: AbortSignal) {
    let names: readonly string[] = [];
    try {
      names = await limit(() =>
        withDeadline(
          timeoutMilliseconds,
          signal,
          () => new Error('too slow'),
          (deadline) => servingNames(address, deadline),
        ),
      );
      identity.failures = 0;
      identity.dueAt = clock.monotonic() + options.refreshMilliseconds;
    } catch {
      // Whether the server answers is its reader's to tell; here it only stays without a name for now.
      if (signal.aborted) return;
      identity.failures++;
      const wait = backOffDelay(options.backOff, identity.failures, clock.random());
      identity.dueAt = clock.monotonic() + wait;
      if (identity.ids.length > 0) return;
    }
    const candidates = [...new Set([...hostnames, ...names])].slice(0, maximumNames);
    const ids = (await Promise.all(candidates.map(serverIdsOf))).flat();
    const isNews = ids.join() !== identity.ids.join();
    identity.ids = ids;
    if (isNews && !signal.aborted) options.onChange();
  }

  return {
    async resolve(endpoints, signal) {
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
          identity.underWay = ask(endpoint, identity, signal).finally(() => {
            identity.underWay = undefined;
          });
        }
        return identity.underWay;
      });
      await Promise.all(underWay);
    },
    serverIds: () => new Map([...identities].map(([address, { ids }]) => [address, ids])),
  };
}
