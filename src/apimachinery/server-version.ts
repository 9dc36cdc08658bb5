const serverVersion = /^v?(\d+)\.(\d+)(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+.*)?$/;

/** `1.36` of `v1.36.2-gke.100`; `undefined` for what cannot be read. */
export function minorVersion(version: string | undefined): string | undefined {
  const match = serverVersion.exec(version ?? '');
  return match === null ? undefined : `${Number(match[1])}.${Number(match[2])}`;
}

/** Older before newer, minor versions too; what cannot be read before everything else. */
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

/** Semantic Versioning 2.0.0 section 11. Suffixes of vendors (`-gke.100`, `-eks-1a2b`) have the form of a pre-release. */
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
