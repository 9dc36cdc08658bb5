import {
  type AdvertisedAddress,
  type AdvertisedServer,
  isGivenByOperator,
} from '../snapshot/addresses/addresses.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import { placeOf } from './documents/endpoints.ts';
import type { ServerDescription } from './documents/sync-server.ts';

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
 */
export class AdvertisedAddresses {
  /** Names of the routers that may advertise. */
  readonly #routers: ReadonlySet<string>;
  readonly #advertised = new Map<string, AdvertisedServer | undefined>();
  #onChange = () => {};

  /** @param routers names of the routers that may advertise */
  constructor(routers: readonly string[]) {
    this.#routers = new Set(routers);
  }

  /** A router has responded. @param now `undefined`: it advertises nothing */
  heard(router: string, now: AdvertisedServer | undefined): void {
    if (!this.#routers.has(router)) return;
    const before = this.#advertised.get(router);
    const hasChanged = !this.#advertised.has(router) || JSON.stringify(before) !== JSON.stringify(now);
    this.#advertised.set(router, now);
    if (hasChanged) this.#onChange();
  }

  /**
   * @param previous has the addresses of routers that have not responded yet
   * @returns by server ID; a server without one is reached at its own address
   */
  resolve(servers: readonly ServerDescription[], previous: Snapshot | undefined) {
    const warnings: string[] = [];
    const before = new Map(previous?.servers.map(({ id, advertised }) => [id, advertised]));
    const addresses = new Map(
      servers.flatMap((server) => {
        const address = this.#addressFor(server, before.get(server.id), warnings);
        return address === undefined ? [] : [[server.id, address] as const];
      }),
    );
    return { addresses, warnings };
  }

  /** Calls this, from then on, when `resolve` would return something else. */
  onChange(onChange: () => void): void {
    this.#onChange = onChange;
  }

  #addressFor(
    server: ServerDescription,
    before: AdvertisedAddress | undefined,
    warnings: string[],
  ): AdvertisedAddress | undefined {
    const hasOwn = server.address !== undefined || server.url !== undefined;
    const all = [...this.#advertised.values()].filter((one) => one?.serverId === server.id);
    const given = all.filter((one) => one !== undefined && isGivenByOperator(one));
    const isUnheard = this.#advertised.size < this.#routers.size;
    const wasInUse = before !== undefined && (isGivenByOperator(before) || !hasOwn);
    // A router that has not responded yet may be the one that advertised it.
    if (all.length === 0 && isUnheard && wasInUse) return before;
    // A router that was given an address contradicts one that was given none: it may claim an address that is not its own.
    const disagree = given.length > 0 && given.length < all.length;
    const counted = (given.length > 0 && !disagree) || (given.length === 0 && hasOwn) ? given : all;
    const distinct = new Map(
      counted.flatMap((one) => (one === undefined ? [] : [[placeOf(one.address), one]])),
    );
    if (distinct.size > 1 || disagree) {
      warnings.push(disagreement(server.id, [...distinct.values()]));
      return wasInUse && distinct.has(placeOf(before.address)) ? before : undefined;
    }
    const [only] = distinct.values();
    return only && { address: only.address, by: only.by };
  }
}

/** The part that the rounds of a sync job ask for. */
export type PeerAddresses = Pick<AdvertisedAddresses, 'resolve' | 'onChange'>;

function disagreement(id: string, advertised: readonly AdvertisedServer[]): string {
  const addresses = advertised
    .map(({ address }) => address)
    .sort()
    .join(' and ');
  return `routers advertise ${addresses} for server ${id}, so neither is used: do two routers have the same --server-id?`;
}
