import { type LookupAddress, type LookupOptions, lookup as resolveName } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { type AddressPolicy, checkIpAddress } from '../../snapshot/addresses/address-policy.ts';
import { parseIpAddress } from '../../snapshot/addresses/addresses.ts';

/** Resolves a name to all of its addresses. Default: `node:dns`; tests use a hostile one. */
export type ResolveName = (
  name: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Why `address` may not be dialled; `undefined` when it may. */
export function refusedAddress(address: string, policy: AddressPolicy): string | undefined {
  // A zone (`fe80::1%eth0`) does not change the kind of the address.
  const ip = parseIpAddress(address.split('%', 1)[0] ?? '');
  return ip === undefined ? 'is not an IP address' : checkIpAddress(ip, policy);
}

/**
 * A `lookup` for sockets that returns only addresses the policy allows, and an error if a name has none. The name was
 * checked with the snapshot; its addresses are checked here, in the same lookup that is dialled, so that the name cannot
 * be pointed elsewhere in between (DNS rebinding; in CVE-2022-3294 the dial did not repeat the check).
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
