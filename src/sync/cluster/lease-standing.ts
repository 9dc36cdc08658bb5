import { placeOf } from './api-endpoints.ts';
import { type IdentityLease, isSameHost } from './identity-lease.ts';

/** What an identity Lease says of its server. */
export type LeaseStanding =
  | { readonly kind: 'held' }
  /** Not renewed within its duration. */
  | { readonly kind: 'expired' }
  /** Another process, on the same host or at the same address, holds a newer Lease. */
  | { readonly kind: 'superseded'; readonly by: string };

/** The last observed renewal of a Lease. */
export interface LeaseRenewal {
  readonly renewedAt: number;
  /** By the monotonic clock; `undefined` before the first observed renewal. */
  readonly seenAt: number | undefined;
}

/** Tolerance for a server's clock, before a Lease without an observed renewal counts as expired, milliseconds. */
const clockSkew = 60_000;

/**
 * How much later another Lease must have been renewed to supersede this one, milliseconds. API servers renew every 10 s,
 * so three renewals were missed. Two servers that both renew never supersede each other.
 */
const supersededAfter = 30_000;

/**
 * Observes renewals by this machine's clock, because the times in Leases are those of other clocks (client-go's leader
 * election does the same).
 *
 * @param monotonic now, by the monotonic clock
 */
export function followRenewals(
  leases: readonly IdentityLease[],
  previous: ReadonlyMap<string, LeaseRenewal>,
  monotonic: number,
): ReadonlyMap<string, LeaseRenewal> {
  return new Map(
    leases.map(({ id, renewedAt }) => {
      const before = previous.get(id);
      if (before === undefined) return [id, { renewedAt, seenAt: undefined }];
      return [id, before.renewedAt === renewedAt ? before : { renewedAt, seenAt: monotonic }];
    }),
  );
}

/** @param now milliseconds since the epoch */
export function leaseStanding(
  lease: IdentityLease,
  leases: readonly IdentityLease[],
  renewal: LeaseRenewal | undefined,
  now: number,
  monotonic: number,
): LeaseStanding {
  const successors = leases
    .filter((other) => other.renewedAt - lease.renewedAt > supersededAfter && isSuccessor(lease, other))
    .sort((one, other) => other.renewedAt - one.renewedAt || (one.id < other.id ? -1 : 1));
  const [successor] = successors;
  if (successor !== undefined) return { kind: 'superseded', by: successor.id };
  if (renewal?.seenAt !== undefined && monotonic - renewal.seenAt <= lease.durationMilliseconds) {
    return { kind: 'held' };
  }
  const endsAt = lease.renewedAt + lease.durationMilliseconds + clockSkew;
  return { kind: endsAt < now ? 'expired' : 'held' };
}

/** An upgrade can change the form of the ID, and the earlier Lease stays for up to an hour. */
function isSuccessor(lease: IdentityLease, other: IdentityLease): boolean {
  if (other.id === lease.id) return false;
  if (isSameHost(lease, other)) return true;
  return (
    lease.address !== undefined &&
    other.address !== undefined &&
    placeOf(lease.address) === placeOf(other.address)
  );
}
