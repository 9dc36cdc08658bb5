import { compareServerVersions, minorVersion } from '../../apimachinery/server-version.ts';
import type { RouterStatus } from '../../own-paths/status/status-schema.ts';

/** Host names of servers by ID, where the snapshot has them. */
export type Hostnames = ReadonlyMap<string, string>;

export function hostnamesOf({ servers }: Pick<RouterStatus, 'servers'>): Hostnames {
  return new Map(servers.flatMap(({ id, hostname }) => (hostname === null ? [] : [[id, hostname]])));
}

/**
 * The name that people call the server: its host name where the snapshot has it, since IDs of kube-apiserver are
 * hashes.
 */
export function displayName(id: string, hostnames: Hostnames): string {
  return hostnames.get(id) ?? id;
}

export function withDisplayNames(text: string, hostnames: Hostnames): string {
  if (hostnames.size === 0) return text;
  return text.replaceAll(/[^\s,;:()]+/g, (word) => hostnames.get(word) ?? word);
}

/** Longer versions are cut: the snapshot takes up to 512 characters, and none that a server reports is so long. */
const longestVersion = 160;

export function shortVersion(version: string): string {
  return version.length > longestVersion ? `${version.slice(0, longestVersion - 1)}…` : version;
}

/** The part of a server's behaviour that its version does not say: `1.36 emulating 1.35`; empty for nearly every one. */
export function peculiarityOf({ version, countedAs }: RouterStatus['servers'][number]): string {
  return countedAs == null || countedAs === minorVersion(version ?? undefined) ? '' : countedAs;
}

/** Shades of one colour, from faint to strong (colours.css). */
const shades = 5;

/** The class by which a version is coloured, everywhere on the page. */
export type VersionColours = (version: string | null | undefined) => string;

/**
 * The newest has the strongest shade; of more versions than shades the oldest share the faintest. One that is not known
 * has the faintest of all. Pure.
 */
export function versionColours(versions: Iterable<string | null | undefined>): VersionColours {
  const known = [...new Set(versions)]
    .filter((version) => typeof version === 'string')
    .sort(compareServerVersions);
  const shadeOf = (index: number) => `shade-${Math.max(0, shades - known.length + index)}`;
  const classes = new Map(known.map((version, index) => [version, shadeOf(index)]));
  return (version) => classes.get(version ?? '') ?? 'no-version';
}

/** `1 server`, `2 servers`. */
export function count(number: number, one: string, several?: string): string {
  return `${number} ${nounFor(number, one, several)}`;
}

export function nounFor(number: number, one: string, several = `${one}s`): string {
  return number === 1 ? one : several;
}

/** The state of a server as a badge has it: `Ready`. */
export function stateName(status: string): string {
  return `${status.charAt(0).toUpperCase()}${status.slice(1)}`;
}
