import type { ServeConfig } from '../node/serve-config.ts';
import type { FlagValues } from './flag-values.ts';

/** More than any server needs that answers short reads quickly. */
const maximumReadConnections = 1_024;

export function readPerformanceFlags(values: FlagValues): ServeConfig['performance'] | undefined {
  const http1ReadConnections = values.integer('http1-read-connections', 0, maximumReadConnections);
  return http1ReadConnections === undefined ? undefined : { http1ReadConnections };
}
