import { type AddressPolicy, checkServerAddress } from './address-policy.ts';
import { IssueList, type SnapshotIssue } from './issues.ts';
import { parseRfc3339 } from './rfc3339.ts';
import type { Snapshot } from './types.ts';

/** How far the maker's clock may be ahead of the receiver's: the leeway Kerberos made customary. */
const maximumClockSkewMilliseconds = 5 * 60 * 1000;

/**
 * What a well-formed snapshot must fulfil to be used by this receiver: no address of a server that the policy refuses,
 * and no creation time in the future, which would stretch its lifetime.
 */
export function checkAcceptance(snapshot: Snapshot, policy: AddressPolicy, now: number): SnapshotIssue[] {
  const issues = new IssueList();
  const future = futureFault(snapshot.metadata.createdAt, now);
  if (future !== undefined) issues.add('metadata.createdAt', future);
  for (const [index, { address, url, advertised }] of snapshot.servers.entries()) {
    checkAddress(`servers[${index}].address`, address, policy, issues);
    checkAddress(`servers[${index}].url`, url, policy, issues);
    checkAddress(`servers[${index}].advertised.address`, advertised?.address, policy, issues);
  }
  return issues.toArray();
}

/**
 * The snapshot without the addresses of extension API servers that the policy refuses. They are no reason to refuse a
 * snapshot, unlike a server's: a cluster IP outside the blocks of a router's peers is nobody's fault, and what it
 * belongs to is reached through the aggregator.
 */
export function withoutRefusedServices(snapshot: Snapshot, policy: AddressPolicy): Snapshot {
  const isRefused = (address: string | undefined): boolean =>
    address !== undefined && checkServerAddress(address, policy) !== undefined;
  if (!snapshot.apiServices.some(({ service }) => isRefused(service?.address))) return snapshot;
  return {
    ...snapshot,
    apiServices: snapshot.apiServices.map((apiService) => {
      if (apiService.service === undefined || !isRefused(apiService.service.address)) return apiService;
      const { address: _address, ...service } = apiService.service;
      return { ...apiService, service };
    }),
  };
}

/** What is wrong with a creation time that lies in the future; `undefined` when it does not. */
export function futureFault(createdAt: string, now: number): string | undefined {
  const created = parseRfc3339(createdAt);
  if (created === undefined || created - now <= maximumClockSkewMilliseconds) return undefined;
  const seconds = Math.round((created - now) / 1000);
  return `lies ${seconds} seconds in the future; compare the clocks of both machines`;
}

function checkAddress(
  path: string,
  address: string | undefined,
  policy: AddressPolicy,
  issues: IssueList,
): void {
  const fault = address === undefined ? undefined : checkServerAddress(address, policy);
  if (fault !== undefined) issues.add(path, fault);
}
