import type { RouterStatus } from '../own-paths/status/status-schema.ts';

interface VersionShare {
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
type UpgradeStateName = 'uniform' | 'differing' | 'mixed' | 'unknown';

/** Of the servers that are there: those that have left run no version. */
export interface UpgradeState {
  readonly state: UpgradeStateName;
  /** The oldest first. */
  readonly shares: readonly VersionShare[];
  readonly servers: number;
  /** Servers that have left and may come back. */
  readonly departed: number;
}

/** Whether an upgrade is in progress, as far as versions and served sets tell. Pure. */
export function upgradeState({
  served,
  servers: listed,
}: Pick<RouterStatus, 'served' | 'servers'>): UpgradeState {
  const columns = served?.columns ?? [];
  const departed = new Set(listed.flatMap(({ id, departedAt }) => (departedAt === null ? [] : [id])));
  const present = columns
    .map(({ version, servers }) => ({ version, servers: servers.filter((id) => !departed.has(id)).length }))
    .filter(({ servers }) => servers > 0);
  const shares = [...Map.groupBy(present, ({ version }) => version ?? undefined)].map(([version, group]) => ({
    version,
    servers: group.reduce((sum, { servers }) => sum + servers, 0),
  }));
  const there = shares.reduce((sum, share) => sum + share.servers, 0);
  return {
    state: stateOf(shares, present.length),
    shares,
    servers: there,
    departed: columns.reduce((sum, { servers }) => sum + servers.length, 0) - there,
  };
}

/** A version that is not known is no other version: it may well be the same. */
function stateOf(shares: readonly VersionShare[], columns: number): UpgradeStateName {
  const known = shares.filter(({ version }) => version !== undefined).length;
  if (known > 1) return 'mixed';
  if (known < shares.length) return 'unknown';
  return columns > 1 ? 'differing' : 'uniform';
}
