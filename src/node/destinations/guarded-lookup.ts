import { type LookupAddress, type LookupOptions, lookup as resolveName } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { type AddressPolicy, checkIpAddress } from '../../snapshot/addresses/address-policy.ts';
import { parseIpAddress } from '../../snapshot/addresses/ip-address.ts';

/** Resolves a name to every address it has. `node:dns` has it; tests bring a hostile one. */
export type ResolveName = (
  name: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Why `address` may not be dialled; `undefined` when it may. */
export function refusedAddress(address: string, policy: AddressPolicy): string | undefined {
  // A zone (`fe80::1%eth0`) does not change what kind of address it is.
  const ip = parseIpAddress(address.split('%', 1)[0] ?? '');
  return ip === undefined ? 'is no IP address' : checkIpAddress(ip, policy);
}

/**
 * A `lookup` for sockets that gives them only addresses the policy allows, and an error when a name has none.
 * The name in a snapshot was judged when the snapshot came; what it resolves to is judged here, on the very
 * answer that is dialled, so that a name cannot be pointed elsewhere in between (DNS rebinding; CVE-2022-3294
 * was a check that the dial did not repeat).
 */
export function guardedLookup(policy: AddressPolicy, resolve: ResolveName = resolveName): LookupFunction {
  return (name, options, callback) => {
    resolve(name, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, '');
        return;
      }
      const allowed = addresses.filter(({ address }) => refusedAddress(address, policy) === undefined);
      const [first] = allowed;
      if (first === undefined) {
        const why = addresses
          .map(({ address }) => `${address} ${refusedAddress(address, policy)}`)
          .join('; ');
        callback(new Error(`no address of the name may be dialled: ${why}`), '');
      } else if (options.all === true) {
        callback(null, allowed);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}
