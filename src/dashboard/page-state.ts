import type { LastProbe } from '../health/server-health.ts';
import type { HistoryView } from '../own-paths/history/history-view.ts';
import type { RouterHistory } from '../own-paths/history/router-history.ts';
import type { RecentDecision, RecentDecisions } from '../own-paths/status/recent-decisions.ts';
import type { RouterStatus } from '../own-paths/status/status-schema.ts';
import type { MixedVersionProxyOptions } from '../proxy/options.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';

/** Everything that the status page shows, at one moment. */
export interface PageState {
  readonly status: RouterStatus;
  readonly table: RoutingTable | undefined;
  /** `undefined`: never probed. */
  readonly lastProbe: (serverId: string) => LastProbe | undefined;
  /** The newest first; `undefined` where none are kept. */
  readonly recentDecisions: readonly RecentDecision[] | undefined;
  /** The last hour; `undefined` where none is kept. */
  readonly history: HistoryView | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What the status page knows besides what `v1/status` tells. */
interface PageSources {
  /** One of the router's `observers`. Default: the page shows no decisions. */
  readonly recentDecisions?: RecentDecisions | undefined;
  /** One of the router's `observers`. Default: the page shows nothing of the last hour. */
  readonly history?: Pick<RouterHistory, 'view'> | undefined;
}

/**
 * Gathers what the page is to show when it is asked for.
 * @param clock milliseconds since the epoch
 */
export function pageStateSource(
  options: PageSources & Pick<MixedVersionProxyOptions, 'health' | 'routingTable'>,
  clock: () => number,
  status: () => RouterStatus,
): () => PageState {
  const { health, recentDecisions, history, routingTable } = options;
  return () => ({
    status: status(),
    table: routingTable.current(),
    lastProbe: (id) => health?.report(id)?.lastProbe,
    recentDecisions: recentDecisions?.list(),
    history: history?.view(),
    now: clock(),
  });
}
