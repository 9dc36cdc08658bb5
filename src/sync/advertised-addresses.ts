import {
  type AdvertisedAddress,
  type AdvertisedServer,
  isGivenByOperator,
} from '../snapshot/addresses/addresses.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import { placeOf } from './documents/endpoints.ts';
import type { ServerDescription } from './documents/sync-server.ts';

export type AdvertisedAddresses = ReturnType<typeof createAdvertisedAddresses>;

/**
 * The one place that decides which advertised addresses are used.
 *
 * - Only routers that the sync job pushes to can advertise, in the response to a push, and only for the server that they
 *   stand in front of. They cannot add servers.
 * - An address that an operator gave to a router has priority over that of the Lease and of the EndpointSlice. The
 *   default address of a router is used only for a server without any address.
 * - If two routers disagree about one server, neither address is used; an address that was in use stays.
 * - While a router does not respond, its last address stays, across restarts too, because it is in the
 *   previous snapshot.
 *
 * Each router decides by its own policy which addresses it accepts (`withoutRefusedAddresses`).
 *
 * @param routers names of the routers that may advertise
 */
export function createAdvertisedAddresses(routers: readonly string[]) {
  const known = new Set(routers);
  let listener = () => {};
  const advertised = new Map<string, AdvertisedServer | undefined>();

  function addressFor(
    server: ServerDescription,
    before: AdvertisedAddress | undefined,
    warnings: string[],
  ): AdvertisedAddress | undefined {
    const hasOwn = server.address !== undefined || server.url !== undefined;
    const all = [...advertised.values()].filter((one) => one?.serverId === server.id);
    const given = all.filter((one) => one !== undefined && isGivenByOperator(one));
    const isUnheard = advertised.size < known.size;
    // A router that has not responded yet may be the one that advertised it.
    if (all.length === 0 && isUnheard && before !== undefined && (isGivenByOperator(before) || !hasOwn)) {
      return before;
    }
    // A router that was given an address contradicts one that was given none: it may claim an address that is not its own.
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
        `routers advertise ${addresses} for server ${server.id}, so neither is used: do two routers have the same --server-id?`,
      );
      const wasInUse = before !== undefined && (isGivenByOperator(before) || !hasOwn);
      return wasInUse && distinct.has(placeOf(before.address)) ? before : undefined;
    }
    const [only] = distinct.values();
    if (only === undefined) return undefined;
    return { address: only.address, by: only.by };
  }

  return {
    /** A router has responded. @param now `undefined`: it advertises nothing */
    heard(router: string, now: AdvertisedServer | undefined): void {
      if (!known.has(router)) return;
      const before = advertised.get(router);
      const hasChanged = !advertised.has(router) || JSON.stringify(before) !== JSON.stringify(now);
      advertised.set(router, now);
      if (hasChanged) listener();
    },
    /**
     * @param previous has the addresses of routers that have not responded yet
     * @returns by server ID; a server without one is reached at its own address
     */
    resolve(servers: readonly ServerDescription[], previous: Snapshot | undefined) {
      const warnings: string[] = [];
      const before = new Map(previous?.servers.map(({ id, advertised }) => [id, advertised]));
      const addresses = new Map(
        servers.flatMap((server) => {
          const address = addressFor(server, before.get(server.id), warnings);
          return address === undefined ? [] : [[server.id, address] as const];
        }),
      );
      return { addresses, warnings };
    },
    /** Calls this, from then on, when `resolve` would return something else. */
    onChange(given: () => void): void {
      listener = given;
    },
  };
}
