import { minorVersion } from '../../apimachinery/server-version.ts';
import { comparePreference } from '../../snapshot/routing-table/served-by.ts';
import type { RouterStatus } from './router-status.ts';

/** Of `RouterStatus`, or of what `status` reads of it. */
export type ListedServer = Pick<
  RouterStatus['servers'][number],
  'id' | 'local' | 'address' | 'departedAt' | 'version'
> & { readonly health: { readonly status: string } };

/**
 * Whether requests can be sent to it: it is not known to be unhealthy, has not left, and has an address. A server whose
 * health is not known counts as one that serves.
 */
export function isUsable({ local, address, departedAt, health }: ListedServer): boolean {
  // The local server's address is its flag's, whatever the snapshot has.
  return health.status !== 'unhealthy' && (local || (address !== null && departedAt === null));
}

/** How many are neither unhealthy nor gone. Pure. */
export function countHealthy(servers: readonly Pick<ListedServer, 'departedAt' | 'health'>[]): number {
  return servers.filter(({ departedAt, health }) => health.status !== 'unhealthy' && departedAt === null)
    .length;
}

/**
 * The minor version that responds where servers of several versions differ: `preferred`, or while no server of it is
 * usable, the next that has one (`ServedBy.byPreference`). `unknown`: that of a server of unknown version. `undefined`:
 * no server is usable. Pure.
 */
export function respondingVersion(preferred: string, servers: readonly ListedServer[]): string | undefined {
  const minors = servers.filter(isUsable).map(({ version }) => minorVersion(version ?? undefined));
  if (minors.length === 0) return undefined;
  const [first = 'unknown'] = minors.toSorted((left, right) => comparePreference(left, right, preferred));
  return first;
}
