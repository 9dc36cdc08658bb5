import {
  type AdvertisedAddress,
  type AdvertisedServer,
  isGivenByOperator,
} from '../../snapshot/addresses/advertised-address.ts';
import type { Snapshot } from '../../snapshot/format/types.ts';
import { placeOf } from '../cluster/api-endpoints.ts';
import type { ServerDescription } from '../cluster/sync-server.ts';

/** What routers say of where peers should call them, and what of it is believed. */
export interface AdvertisedAddresses {
  /**
   * A router has answered.
   *
   * @param router one of those that the sync job pushes to
   * @param said `undefined`: it advertises nothing
   */
  heard(router: string, said: AdvertisedServer | undefined): void;
  /** Another sync job had the lead meanwhile: what was heard before may be out of date. */
  forget(): void;
  /** @param previous says what was believed of routers that have not been heard. */
  resolve(servers: readonly ServerDescription[], previous: Snapshot | undefined): ResolvedAddresses;
  /** Calls `listener` when a router says something new. @returns how to stop that */
  onChange(listener: () => void): () => void;
}

export interface ResolvedAddresses {
  /** By server ID. A server without one is called at its own address. */
  readonly addresses: ReadonlyMap<string, AdvertisedAddress>;
  readonly warnings: readonly string[];
}

/**
 * The one place where it is decided whose word on an address counts.
 *
 * - Only routers that the sync job was told to push to are heard, each over the connection that it is pushed to by,
 *   and each for the one server that it stands in front of. A server that nothing else names does not come into
 *   being by it.
 * - What an operator gave a router as its address for others goes before the Lease's and the EndpointSlice's; what a
 *   router falls back to only fills in for a server without any address.
 * - Two routers that disagree about one server are believed neither: an address that was in use stays.
 * - A router that does not answer has not taken anything back. What was last known of it stays until it answers,
 *   across restarts and leaders too, for the snapshot before has it.
 *
 * Where an address may be, each router decides by its own policy (`withoutRefusedAddresses`).
 *
 * @param routers names of the routers that will be heard
 */
export function createAdvertisedAddresses(routers: readonly string[]): AdvertisedAddresses {
  const known = new Set(routers);
  const listeners = new Set<() => void>();
  let said = new Map<string, AdvertisedServer | undefined>();

  function believed(
    server: ServerDescription,
    before: AdvertisedAddress | undefined,
    warnings: string[],
  ): AdvertisedAddress | undefined {
    const hasOwn = server.address !== undefined || server.url !== undefined;
    const all = [...said.values()].filter((one) => one?.serverId === server.id);
    const given = all.filter((one) => one !== undefined && isGivenByOperator(one));
    const isUnheard = said.size < known.size;
    // A router that has not been heard may be the one that said it.
    if (all.length === 0 && isUnheard && before !== undefined && (isGivenByOperator(before) || !hasOwn)) {
      return before;
    }
    // Beside a router that was given nothing, one that was given an address contradicts it: it may claim what is not its.
    const disagree = given.length > 0 && given.length < all.length;
    const counted = (given.length > 0 && !disagree) || (given.length === 0 && hasOwn) ? given : all;
    const distinct = new Map(
      counted.flatMap((one) => (one === undefined ? [] : [[placeOf(one.address), one]])),
    );
    if (distinct.size > 1 || disagree) {
      const addresses = [...distinct.values()]
        .map(({ address }) => address)
        .sort()
        .join(' and ');
      warnings.push(
        `routers advertise ${addresses} for server ${server.id}, so neither is believed: is one --server-id given twice?`,
      );
      const wasInUse = before !== undefined && (isGivenByOperator(before) || !hasOwn);
      return wasInUse && distinct.has(placeOf(before.address)) ? before : undefined;
    }
    const [only] = distinct.values();
    if (only === undefined) return undefined;
    return { address: only.address, by: only.by };
  }

  return {
    heard(router, now) {
      if (!known.has(router)) return;
      const isNews = !said.has(router) || JSON.stringify(said.get(router)) !== JSON.stringify(now);
      said.set(router, now);
      if (isNews) for (const listener of listeners) listener();
    },
    forget() {
      said = new Map();
    },
    resolve(servers, previous) {
      const warnings: string[] = [];
      const before = new Map(previous?.servers.map(({ id, advertised }) => [id, advertised]));
      const addresses = new Map(
        servers.flatMap((server) => {
          const address = believed(server, before.get(server.id), warnings);
          return address === undefined ? [] : [[server.id, address] as const];
        }),
      );
      return { addresses, warnings };
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
