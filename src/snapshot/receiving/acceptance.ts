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
  const refused = snapshot.servers.flatMap((server, index) =>
    (['address', 'url'] as const).flatMap((field) => {
      const text = server[field];
      const reason = text === undefined ? undefined : checkServerAddress(text, policy);
      return reason === undefined ? [] : [{ id: server.id, path: `servers[${index}].${field}`, reason }];
    }),
  );
  // What to change is told once, however many servers it is about. These are known by their IDs, and each has its path.
  for (const [reason, alike] of Map.groupBy(refused, (issue) => issue.reason)) {
    for (const [index, { path }] of alike.entries()) {
      const message =
        index === 0
          ? `the address of ${named(alike)} ${reason}`
          : `is refused for the same reason as ${alike[0]?.path}`;
      issues.add(path, message);
    }
  }
  return issues.toArray();
}

/** Servers that an error names. */
const namedServers = 5;

function named(servers: readonly { readonly id: string }[]): string {
  const more = servers.length - namedServers;
  const ids = servers.slice(0, namedServers).map(({ id }) => id);
  return `${ids.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
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

/** The error of a creation time in the future; `undefined` when it is not. */
export function futureIssue(createdAt: string, now: number): string | undefined {
  const created = parseRfc3339(createdAt);
  if (created === undefined || created - now <= maximumClockSkewMilliseconds) return undefined;
  const seconds = Math.round((created - now) / 1000);
  return `lies ${seconds} seconds in the future; compare the clocks of both machines`;
}
