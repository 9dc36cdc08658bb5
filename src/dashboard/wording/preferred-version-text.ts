import { respondingVersion } from '../../own-paths/status/router-status.ts';
import type { RouterStatus } from '../../own-paths/status/status-schema.ts';

type Preference = Pick<RouterStatus, 'enabled' | 'preferredVersion' | 'servers'>;

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
  const version = configured === minor ? minor : `${minor} (${configured})`;
  const responding = respondingVersion(minor, servers);
  const differing = 'every request for a resource whose fields differ';
  if (responding === minor) {
    return enforcementDiffers
      ? `${version} answers for all: every write, since admission policies differ; and ${differing}`
      : `${version} answers ${differing}`;
  }
  const preferred = `${version} should answer ${enforcementDiffers ? 'every write and ' : ''}${differing}`;
  if (responding === undefined) return `${preferred}, but no server is healthy: requests get 503`;
  return `${preferred}, but ${otherVersionText(responding)}`;
}

/** That a version responds in place of the preferred one, which has been named. Pure. */
export function otherVersionText(responding: string): string {
  const version = responding === 'unknown' ? 'a server of unknown version' : responding;
  return `no server of it is healthy: ${version} answers`;
}
