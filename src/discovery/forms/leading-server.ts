import { compareServerVersions } from '../../apimachinery/server-version.ts';

interface Candidate {
  readonly serverId: string;
  /** Kubernetes version, for example `v1.34.0-alpha.1+6f1a`; `undefined` when unknown. */
  readonly version?: string | undefined;
}

/**
 * Which server's words are taken where servers describe the same thing differently, for
 * `Array.prototype.sort`: the newest Kubernetes version first, then the lower server ID.
 *
 * Upstream lets the lowest server ID lead the merge; its design speaks of the local server. Neither will do
 * here. A document that each router worded after its own server would carry another ETag on each, so that a
 * client behind a load balancer would never get a 304. And an older server cannot describe what it does not
 * know. So the order comes from the snapshot alone and is the same wherever that snapshot is.
 */
export function compareLeadership(left: Candidate, right: Candidate): number {
  return (
    compareServerVersions(right.version, left.version) ||
    (left.serverId < right.serverId ? -1 : left.serverId > right.serverId ? 1 : 0)
  );
}
