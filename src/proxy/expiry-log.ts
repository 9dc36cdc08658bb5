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
      else logger.warn({ generation, expiresAt, stalePolicy }, expiredText[stalePolicy]);
    },
  };
}

const expiredText = {
  'serve-stale':
    'The snapshot is past its lifetime: requests are still routed by it, and changes of the API servers are missed. See to the sync job',
  local:
    'The snapshot is past its lifetime: the local server gets what is not known to be for peers only, which gets 503. See to the sync job',
  unavailable: 'The snapshot is past its lifetime: requests for resources get 503. See to the sync job',
} as const satisfies Record<StalePolicy, string>;
