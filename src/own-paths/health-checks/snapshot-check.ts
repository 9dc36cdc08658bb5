import { defaultStalePolicy, type StalePolicy } from '../../routing/decision.ts';
import { isExpired, type RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import {
  type EmbeddedSyncSource,
  type EmbeddedSyncStatus,
  embeddedSyncWarnings,
} from '../status/embedded-sync-status.ts';
import type { HealthCheck } from './health.ts';

export interface SnapshotCheckOptions {
  readonly routingTable: { current(): RoutingTable | undefined };
  readonly stalePolicy?: StalePolicy;
  /** With the feature gate off no snapshot is needed. */
  readonly enabled?: boolean;
  readonly clock?: () => number;
  /** The sync job in this router. Default: snapshots are pushed. */
  readonly embeddedSync?: EmbeddedSyncSource | undefined;
}

/**
 * Ready once there has been a snapshot. An expired one fails only under the policy `unavailable`, which refuses
 * requests then; under the others the router still does its work, and a sync job that stopped must not take
 * every router of the control plane out of the load balancer at once: there it is a warning of `?verbose`.
 */
export function snapshotCheck(options: SnapshotCheckOptions): HealthCheck {
  const { routingTable, stalePolicy = defaultStalePolicy, enabled = true, clock = Date.now } = options;
  const { embeddedSync } = options;
  return {
    name: 'snapshot',
    check() {
      if (!enabled) return undefined;
      const table = routingTable.current();
      if (table === undefined) return `there has been no snapshot yet: ${whyThereIsNone(embeddedSync?.())}`;
      return isExpired(table, clock()) && stalePolicy === 'unavailable'
        ? `the snapshot of generation ${table.generation} is past its lifetime`
        : undefined;
    },
    warning() {
      if (!enabled || !isExpired(routingTable.current(), clock())) return undefined;
      return stalePolicy === 'serve-stale'
        ? 'the snapshot is past its lifetime, and still gone by: see to the sync job'
        : 'the snapshot is past its lifetime: see to the sync job';
    },
  };
}

function whyThereIsNone(reading: EmbeddedSyncStatus | undefined): string {
  if (reading === undefined) return 'is the sync job running?';
  const [first = 'the cluster is being read'] = embeddedSyncWarnings(reading);
  return first;
}
