import { compareNames } from '../runtime/compare-names.ts';

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

/**
 * Nearly as Semantic Versioning 2.0.0 section 11 has it: none is newer than any, and numbers count as numbers. Suffixes of
 * vendors (`-gke.100`, `-eks-1a2b`) have the form of a pre-release.
 */
function comparePreReleases(left: string | undefined, right: string | undefined): number {
  if (left === undefined || right === undefined)
    return Number(left === undefined) - Number(right === undefined);
  return compareNames(left, right);
}
