import { compareServerVersions, minorVersion } from '../../apimachinery/server-version.ts';
import { type ListedServer, respondingVersion } from '../../own-paths/status/router-status.ts';

interface Preference {
  readonly enabled: boolean;
  readonly preferredVersion: {
    readonly configured: string;
    readonly minor: string | null;
    readonly coming: { readonly minor: string; readonly at: string } | null;
    readonly enforcementDiffers: boolean;
  };
  readonly servers: readonly ListedServer[];
}

/**
 * Which version responds where servers of several versions differ, by what is known of their health: a sentence that
 * begins with the version and has no full stop. `undefined` where none is preferred now. Pure.
 */
export function preferenceText(preference: Preference): string | undefined {
  const now = currentPreferenceText(preference);
  const coming = preference.preferredVersion.coming;
  return now && coming
    ? `${now}; from ${coming.at.slice(11, 19)} UTC on ${coming.minor} is preferred, at every router`
    : now;
}

function currentPreferenceText({ enabled, preferredVersion, servers }: Preference): string | undefined {
  if (!enabled || preferredVersion.minor === null) return undefined;
  const { configured, minor, enforcementDiffers } = preferredVersion;
  const version = preferredVersionText(configured, minor, servers);
  const what = 'requests for resources that the versions understand differently';
  const responding = respondingVersion(minor, servers);
  if (responding === minor) {
    return enforcementDiffers
      ? `${version} gets every write, because the versions enforce different admission policies, and ${what}`
      : `${version} gets ${what}`;
  }
  const preferred = `${version} is preferred for ${enforcementDiffers ? 'writes and ' : ''}${what}`;
  if (responding === undefined) return `${preferred}, but no server is healthy: requests get 503`;
  return `${preferred}, but ${otherVersionText(responding)}`;
}

/** That a version responds in place of the preferred one, which has been named. Pure. */
export function otherVersionText(responding: string): string {
  const version = responding === 'unknown' ? 'a server of unknown version' : responding;
  return `no server of it is healthy: ${version} answers`;
}

/** The version that is preferred, and by which setting: `1.36 (newest)`. Pure. */
export function preferredVersionText(
  configured: string,
  minor: string,
  servers: readonly { readonly version: string | null }[],
): string {
  if (configured === minor) return minor;
  return `${minor} (${configured === 'majority' ? majorityText(minor, servers) : configured})`;
}

/** Of versions with equally many servers the newest is preferred. */
function majorityText(minor: string, servers: readonly { readonly version: string | null }[]): string {
  const byMinor = Map.groupBy(servers, ({ version }) => minorVersion(version ?? undefined));
  const counts = [...byMinor].filter(([known]) => known !== undefined);
  const most = byMinor.get(minor)?.length ?? 0;
  // A change of a moment ago does not count yet (`coming`).
  if (counts.some(([, { length }]) => length > most)) return 'most servers until now';
  const hasRival = counts.some(([other, { length }]) => other !== minor && length === most);
  if (!hasRival) return 'most servers';
  const isNewest = counts.every(([other]) => compareServerVersions(other, minor) <= 0);
  return `no majority, so the newest${isNewest ? '' : ' of those with most servers'}`;
}
