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

const serverVersion = /^v?(\d+)\.(\d+)(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+.*)?$/;

/** Older before newer; what cannot be read before everything else. */
export function compareServerVersions(left: string | undefined, right: string | undefined): number {
  const leftMatch = serverVersion.exec(left ?? '');
  const rightMatch = serverVersion.exec(right ?? '');
  if (leftMatch === null || rightMatch === null)
    return Number(leftMatch !== null) - Number(rightMatch !== null);
  for (const part of [1, 2, 3]) {
    const difference = Number(leftMatch[part] ?? 0) - Number(rightMatch[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return comparePreReleases(leftMatch[4], rightMatch[4]);
}

/**
 * Semantic Versioning 2.0.0 section 11: a pre-release is older than its release, numbers count as numbers.
 * Suffixes of vendors (`-gke.100`, `-eks-1a2b`) have the form of one; between servers of one vendor they
 * order as they should.
 */
function comparePreReleases(left: string | undefined, right: string | undefined): number {
  if (left === undefined || right === undefined)
    return Number(left === undefined) - Number(right === undefined);
  const leftParts = left.split('.');
  const rightParts = right.split('.');
  for (const [index, leftPart] of leftParts.entries()) {
    const rightPart = rightParts[index];
    if (rightPart === undefined) return 1;
    const difference = comparePreReleaseParts(leftPart, rightPart);
    if (difference !== 0) return difference;
  }
  return leftParts.length - rightParts.length;
}

function comparePreReleaseParts(left: string, right: string): number {
  const leftIsNumber = /^\d+$/.test(left);
  const rightIsNumber = /^\d+$/.test(right);
  if (leftIsNumber && rightIsNumber) return Number(left) - Number(right);
  if (leftIsNumber !== rightIsNumber) return leftIsNumber ? -1 : 1;
  return left < right ? -1 : left > right ? 1 : 0;
}
