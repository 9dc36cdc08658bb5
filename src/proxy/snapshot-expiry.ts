import type { StalePolicy } from '../routing/decision.ts';
import type { Logger } from '../runtime/logger.ts';
import { isExpired, type RoutingTable } from '../snapshot/routing-table/routing-table.ts';

/**
 * Logs once when the snapshot in use has expired, and once when a valid one has arrived.
 * Requests trigger the check, so that it needs no timer of the runtime.
 */
export function createExpiryLog(
  stalePolicy: StalePolicy,
  logger: Logger,
): { look(table: RoutingTable | undefined, now: number): void } {
  let wasExpired = false;
  return {
    look(table, now) {
      const expired = isExpired(table, now);
      if (expired === wasExpired || table === undefined) return;
      wasExpired = expired;
      const { generation } = table;
      const expiresAt = new Date(table.expiresAt).toISOString();
      if (!expired) logger.info({ generation, expiresAt }, 'The snapshot in use is in force again');
      else logger.warn({ generation, expiresAt, stalePolicy }, `The ${expiryText(stalePolicy)}`);
    },
  };
}

/** For the log and for `v1/status`: `snapshot is past its lifetime: …`. */
export function expiryText(stalePolicy: StalePolicy): string {
  return `snapshot is past its lifetime: ${consequences[stalePolicy]}. No newer one came: the cluster cannot be read, or the sync job is down`;
}

const consequences: Readonly<Record<StalePolicy, string>> = {
  'serve-stale': 'requests are still routed by it, and changes of the API servers are missed',
  local: 'the local server gets every request but those that only peers served, which get 503',
  unavailable: 'requests for resources get 503',
};
