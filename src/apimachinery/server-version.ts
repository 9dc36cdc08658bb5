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

/**
 * A version that servers are counted by, as text: `1.36`; `1.36 emulating 1.35` (KEP-4330); where servers of one version were
 * started with other feature gates, or serve other APIs, with the first digits of a digest of these as well.
 */
export const countedVersionPattern =
  /^(\d{1,4}\.\d{1,4})(?: emulating (\d{1,4}\.\d{1,4}))?(?:, feature gates ([0-9a-f]{8}))?(?:, APIs ([0-9a-f]{8}))?$/;

interface CountedVersion {
  /** The minor version of the program. */
  readonly minor: string;
  /** The minor version that the program behaves like, where that is another one. */
  readonly emulates?: string | undefined;
  /** Eight hexadecimal digits each. Left out: not known. */
  readonly featureGates?: string | undefined;
  readonly apis?: string | undefined;
}

function countedVersionText({ minor, emulates, featureGates, apis }: CountedVersion): string {
  return [
    emulates === undefined ? minor : `${minor} emulating ${emulates}`,
    ...(featureGates === undefined ? [] : [`feature gates ${featureGates}`]),
    ...(apis === undefined ? [] : [`APIs ${apis}`]),
  ].join(', ');
}

/** A part of `/version` (k8s.io/apimachinery pkg/version/types.go); what is emulated is in it since 1.33. */
interface VersionInfo {
  readonly gitVersion: string;
  readonly emulationMajor?: string | undefined;
  readonly emulationMinor?: string | undefined;
}

/** The minor version that a server behaves like, where it is another one than its own. */
export function emulatedVersion({
  gitVersion,
  emulationMajor,
  emulationMinor,
}: VersionInfo): string | undefined {
  const emulated = minorVersion(`${emulationMajor}.${emulationMinor}`);
  return emulated === minorVersion(gitVersion) ? undefined : emulated;
}

/** Facts that tell versions apart, as snapshots have them of a server. */
export interface VersionParts {
  /** As `/version` says, for example `v1.26.15`. */
  readonly version?: string | undefined;
  readonly emulates?: string | undefined;
  readonly featureGates?: string | undefined;
  readonly apis?: string | undefined;
}

/** `undefined` where the version is not known. */
export function countedVersionOf({ version, ...parts }: VersionParts): string | undefined {
  const minor = minorVersion(version);
  return minor === undefined ? undefined : countedVersionText({ ...parts, minor });
}

/** @returns `undefined` for what is no such text */
function parseCountedVersion(text: string | undefined): CountedVersion | undefined {
  const [, minor, emulates, featureGates, apis] = countedVersionPattern.exec(text ?? '') ?? [];
  return minor === undefined ? undefined : { minor, emulates, featureGates, apis };
}

/**
 * Older before newer, what cannot be read before everything else: first by the version that servers behave like, then by that
 * of the program. Which of two sets of feature gates is newer nobody can say: 0.
 */
export function compareCountedVersions(left: string | undefined, right: string | undefined): number {
  const [one, other] = [parseCountedVersion(left), parseCountedVersion(right)];
  return (
    compareServerVersions(one?.emulates ?? one?.minor, other?.emulates ?? other?.minor) ||
    compareServerVersions(one?.minor, other?.minor)
  );
}

/** True if both may be one version: what is not known of one of them contradicts nothing. */
export function mayBeOneVersion(left: string | undefined, right: string | undefined): boolean {
  const [one, other] = [parseCountedVersion(left), parseCountedVersion(right)];
  if (one === undefined || other === undefined) return one === other;
  const agree = (part: 'featureGates' | 'apis') =>
    one[part] === undefined || other[part] === undefined || one[part] === other[part];
  return (
    one.minor === other.minor && one.emulates === other.emulates && agree('featureGates') && agree('apis')
  );
}

/**
 * Names versions as shortly as tells them apart: without feature gates and APIs where all those of one version have the same.
 * @param all every version that there is
 */
export function shortVersionNames(all: Iterable<string | undefined>): (version: string) => string {
  const parts = new Map<string, { readonly featureGates: Set<string>; readonly apis: Set<string> }>();
  const plainOf = ({ minor, emulates }: CountedVersion) => countedVersionText({ minor, emulates });
  for (const text of all) {
    const version = parseCountedVersion(text);
    if (version === undefined) continue;
    const known = parts.get(plainOf(version)) ?? { featureGates: new Set(), apis: new Set() };
    parts.set(plainOf(version), known);
    if (version.featureGates !== undefined) known.featureGates.add(version.featureGates);
    if (version.apis !== undefined) known.apis.add(version.apis);
  }
  return (text) => {
    const version = parseCountedVersion(text);
    const known = version && parts.get(plainOf(version));
    if (version === undefined || known === undefined) return text;
    const { minor, emulates } = version;
    return countedVersionText({
      minor,
      emulates,
      featureGates: known.featureGates.size > 1 ? version.featureGates : undefined,
      apis: known.apis.size > 1 ? version.apis : undefined,
    });
  };
}

export function areSeveralVersions(all: readonly (string | undefined)[]): boolean {
  const known = all.filter((version) => version !== undefined);
  return new Set(known.map(shortVersionNames(known))).size > 1;
}
