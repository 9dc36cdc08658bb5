import { compareServerVersions, minorVersion } from '../../apimachinery/server-version.ts';

interface Candidate {
  readonly id: string;
  /** Kubernetes version, for example `v1.34.0-alpha.1+6f1a`; `undefined` when unknown. */
  readonly version?: string | undefined;
  /** The version that the server is counted as (`RoutingServer.minor`). Default: the minor version of `version`. */
  readonly minor?: string | undefined;
}

/**
 * Which server's words are taken where servers describe the same thing differently, for
 * `Array.prototype.sort`: those of the leading version first, where there is one, then the newest Kubernetes
 * version, then the lower server ID.
 *
 * Upstream lets the lowest server ID lead the merge; its design speaks of the local server. Neither will do
 * here. A document that each router worded after its own server would carry another ETag on each, so that a
 * client of a load balancer would never get a 304. An older server cannot describe what it does not
 * know, and the server of requests is what documents should describe. So the order comes from the snapshot alone and is
 * the same wherever that snapshot is.
 *
 * @param leadingMinor the version that responds where versions differ (`RoutingTable.leadingMinor`)
 */
export function compareLeadership(left: Candidate, right: Candidate, leadingMinor?: string): number {
  return (
    Number(leads(right, leadingMinor)) - Number(leads(left, leadingMinor)) ||
    compareServerVersions(right.version, left.version) ||
    (left.id < right.id ? -1 : left.id > right.id ? 1 : 0)
  );
}

function leads(
  { version, minor = minorVersion(version) }: Candidate,
  leadingMinor: string | undefined,
): boolean {
  return leadingMinor !== undefined && minor === leadingMinor;
}
