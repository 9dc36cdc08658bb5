import type { RouterStatus } from '../own-paths/status/router-status.ts';
import type { ServedMatrix } from './served-matrix.ts';
import type { ServerColumn } from './server-columns.ts';

/** Of `RouterStatus`; `status` may have it from a router of another release. */
type ListedServer = Pick<RouterStatus['servers'][number], 'id' | 'local' | 'address' | 'departedAt'> & {
  readonly health: { readonly status: string };
};

/** A resource, or a subresource of one, that no healthy server serves. */
export interface UnservedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
}

export interface Unserved {
  /** No server is usable at all: nothing is served, and `resources` lists nothing. */
  readonly everything: boolean;
  /** Those that some servers serve, all of which are down. */
  readonly resources: readonly UnservedResource[];
}

/**
 * What requests get a 503 for, by what is known of the health of servers: they are unhealthy, have left, or cannot be
 * sent to. A server whose health is not known counts as one that serves. Pure.
 */
export function unserved(
  columns: readonly ServerColumn[],
  matrix: ServedMatrix,
  servers: readonly ListedServer[],
): Unserved {
  const usable = new Set(servers.filter(isUsable).map(({ id }) => id));
  const isUp = columns.map(({ servers: those }) => those.some(({ id }) => usable.has(id)));
  if (columns.length === 0 || !isUp.includes(false)) return { everything: false, resources: [] };
  if (!isUp.includes(true)) return { everything: true, resources: [] };
  const resources = matrix.differing.flatMap(({ group, rows }) =>
    rows
      .filter(({ cells }) => !cells.some((cell, column) => cell !== 'missing' && isUp[column] === true))
      .map(({ version, resource, subresource }) => ({ group, version, resource, subresource })),
  );
  return { everything: false, resources };
}

function isUsable({ local, address, departedAt, health }: ListedServer): boolean {
  // The local server is reached by its flag, whatever the snapshot says of its address.
  return health.status !== 'unhealthy' && (local || (address !== null && departedAt === null));
}
