import type { ProcessFacts } from '../../own-paths/z-pages.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { RouterMetrics } from './router-metrics.ts';

/** The metrics of a router as configured; `undefined` when they are turned off. */
export function createRouterMetrics(
  config: Pick<ServeConfig, 'observability' | 'featureGateEnabled'>,
  { version, nodeVersion, configHash }: ProcessFacts,
  table: () => RoutingTable | undefined,
): RouterMetrics | undefined {
  if (!config.observability.metrics) return undefined;
  return new RouterMetrics({
    version,
    nodeVersion,
    configHash,
    features: { UnknownVersionInteroperabilityProxy: config.featureGateEnabled },
    table,
  });
}
