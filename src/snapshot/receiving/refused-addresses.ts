import { type AddressPolicy, checkServerAddress } from '../addresses/address-policy.ts';
import type { Snapshot, SnapshotServer } from '../format/schema.ts';

/** An address that is left out, because the address policy refuses it or nobody can be reached at it. */
export interface RefusedAddress {
  /** ID of the server. */
  readonly id: string;
  readonly address: string;
  /** A sentence without its subject. */
  readonly reason: string;
}

/** Characters. An annotation can have 256 KiB. */
const longestShown = 300;

/** `the address 127.0.0.1:6443 of apiserver-b is left out: it is a loopback address, …`. */
export function refusedAddressText({ id, address, reason }: RefusedAddress): string {
  return `the address ${JSON.stringify(address.slice(0, longestShown))} of ${id} is left out: it ${reason}`;
}

/** Without a detail: `/readyz?verbose` tells it to everybody. */
export function refusedAddressesBrief(count: number): string {
  return `${count} address${count === 1 ? ' of a server is' : 'es of servers are'} left out, as the status says`;
}

/**
 * A snapshot without the addresses that the policy refuses: one server's address must not cost all the others their
 * routes. A server that has no address left is known and unavailable (503), until it has another. Pure.
 */
export function withoutRefusedAddresses(
  snapshot: Snapshot,
  policy: AddressPolicy,
): { readonly snapshot: Snapshot; readonly refused: readonly RefusedAddress[] } {
  const refused: RefusedAddress[] = [];
  const isRefused = (id: string, address: string | undefined): boolean => {
    const reason = address === undefined ? undefined : checkServerAddress(address, policy);
    if (address === undefined || reason === undefined) return false;
    refused.push({ id, address, reason });
    return true;
  };
  const servers = snapshot.servers.map((server): SnapshotServer => {
    const { id, address, url, addressSource, advertised, ...rest } = server;
    const isOwnRefused = [isRefused(id, address), isRefused(id, url)].includes(true);
    const isAdvertisedRefused = isRefused(id, advertised?.address);
    if (!isOwnRefused && !isAdvertisedRefused) return server;
    const own = {
      ...(address === undefined ? {} : { address }),
      ...(url === undefined ? {} : { url }),
      ...(addressSource === undefined ? {} : { addressSource }),
    };
    return {
      id,
      ...(isOwnRefused ? {} : own),
      ...(isAdvertisedRefused || advertised === undefined ? {} : { advertised }),
      ...rest,
    };
  });
  return { snapshot: refused.length === 0 ? snapshot : { ...snapshot, servers }, refused };
}
