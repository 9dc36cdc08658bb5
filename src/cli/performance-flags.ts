import type { ServeConfig } from '../node/serve-config.ts';
import type { FlagValues } from './flag-values.ts';

/** More than any server needs that answers short reads quickly. */
const maximumReadConnections = 1_024;

export function readPerformanceFlags(values: FlagValues): ServeConfig['performance'] | undefined {
  const directLane = values.boolean('direct-lane');
  const http1ReadConnections = values.integer('http1-read-connections', 0, maximumReadConnections);
  if (directLane === undefined || http1ReadConnections === undefined) {
    return undefined;
  }
  return { directLane, http1ReadConnections };
}
