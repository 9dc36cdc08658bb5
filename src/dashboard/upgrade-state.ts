import type { ServerColumn } from './server-columns.ts';

/** Servers of one version. */
export interface VersionShare {
  /** `undefined`: not known. */
  readonly version: string | undefined;
  readonly servers: number;
}

/**
 * - `uniform`: one version, and all servers serve the same.
 * - `differing`: one version, but what is served differs: feature gates or `--runtime-config`.
 * - `mixed`: several versions.
 * - `unknown`: one version at most is known, and that of some server is not.
 */
export type UpgradeStateName = 'uniform' | 'differing' | 'mixed' | 'unknown';

export interface UpgradeState {
  readonly state: UpgradeStateName;
  /** The oldest first. */
  readonly shares: readonly VersionShare[];
  readonly servers: number;
}

/** Whether an upgrade is in progress, as far as versions and served sets tell. Pure. */
export function upgradeState(columns: readonly ServerColumn[]): UpgradeState {
  const shares = new Map<string | undefined, number>();
  for (const { version, servers } of columns) {
    shares.set(version, (shares.get(version) ?? 0) + servers.length);
  }
  const listed = [...shares].map(([version, servers]) => ({ version, servers }));
  return {
    state: stateOf(listed, columns.length),
    shares: listed,
    servers: listed.reduce((count, { servers }) => count + servers, 0),
  };
}

/** A version that is not known is no other version: it may well be the same. */
function stateOf(shares: readonly VersionShare[], columns: number): UpgradeStateName {
  const known = shares.filter(({ version }) => version !== undefined).length;
  if (known > 1) return 'mixed';
  if (known < shares.length) return 'unknown';
  return columns > 1 ? 'differing' : 'uniform';
}
