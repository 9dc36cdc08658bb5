import { compareServerVersions, minorVersion } from '../../apimachinery/server-version.ts';

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
  const most = byMinor.get(minor)?.length;
  const hasRival = counts.some(([other, { length }]) => other !== minor && length === most);
  if (!hasRival) return 'majority';
  const isNewest = counts.every(([other]) => compareServerVersions(other, minor) <= 0);
  return `no majority: the newest${isNewest ? '' : ' of those with most servers'}`;
}
