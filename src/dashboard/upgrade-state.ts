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
 */
export type UpgradeStateName = 'uniform' | 'differing' | 'mixed';

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
    state: listed.length > 1 ? 'mixed' : columns.length > 1 ? 'differing' : 'uniform',
    shares: listed,
    servers: listed.reduce((count, { servers }) => count + servers, 0),
  };
}
