import { parseRfc3339 } from '../../runtime/time.ts';
import { type DocumentIssue, IssueList } from '../../runtime/validation.ts';
import { type AddressPolicy, checkServerAddress } from '../addresses/address-policy.ts';
import type { Snapshot } from '../format/schema.ts';

/** How far the maker's clock may be ahead of the receiver's: the leeway Kerberos made customary. */
const maximumClockSkewMilliseconds = 5 * 60 * 1000;

/**
 * What a well-formed snapshot must fulfil to be used by this receiver: no address of a server that the policy refuses,
 * and no creation time in the future, which would hide its age.
 */
export function checkAcceptance(snapshot: Snapshot, policy: AddressPolicy, now: number): DocumentIssue[] {
  const issues = new IssueList();
  const future = futureIssue(snapshot.metadata.createdAt, now);
  if (future !== undefined) issues.add('metadata.createdAt', future);
  for (const [index, server] of snapshot.servers.entries()) {
    for (const field of ['address', 'url'] as const) {
      const text = server[field];
      const reason = text === undefined ? undefined : checkServerAddress(text, policy);
      if (reason !== undefined)
        issues.add(`servers[${index}].${field}`, `the address of ${server.id} ${reason}`);
    }
  }
  return issues.toArray();
}

/**
 * Removes advertised addresses that the policy refuses: the flags of one router must not cost the others their snapshot,
 * and its server has its own address.
 */
export function withoutRefusedAddresses(snapshot: Snapshot, policy: AddressPolicy): Snapshot {
  const isRefused = (address: string | undefined): boolean =>
    address !== undefined && checkServerAddress(address, policy) !== undefined;
  if (!snapshot.servers.some((server) => isRefused(server.advertised?.address))) return snapshot;
  return {
    ...snapshot,
    servers: snapshot.servers.map((server) => {
      if (!isRefused(server.advertised?.address)) return server;
      const { advertised: _advertised, ...own } = server;
      return own;
    }),
  };
}

export function futureIssue(createdAt: string, now: number): string | undefined {
  const created = parseRfc3339(createdAt);
  if (created === undefined || created - now <= maximumClockSkewMilliseconds) return undefined;
  const seconds = Math.round((created - now) / 1000);
  return `lies ${seconds} seconds in the future; compare the clocks of both machines`;
}
