import type { ProcessPlace } from '../../observe/z-pages.ts';
import type { ServeConfig } from '../serve-config.ts';

/**
 * What one of several processes is configured with: limits are the whole router's, so that each process gets its share,
 * rounded up. 0, no limit, stays that. `--max-connections` that is not given stays what the limit of open files allows
 * each process by itself. Pure.
 * @param number which of the processes it is for
 */
export function shareOfLimits(config: ServeConfig, { number, of }: ProcessPlace): ServeConfig {
  const share = (whole: number): number => Math.ceil(whole / of);
  const { limits, performance } = config;
  const { readOnly, mutating, longRunning } = limits.requestsInFlight;
  return {
    ...config,
    processes: { count: of, number },
    limits: {
      ...limits,
      requestsInFlight: {
        readOnly: share(readOnly),
        mutating: share(mutating),
        longRunning: share(longRunning),
      },
      maxConnections: limits.maxConnections === undefined ? undefined : share(limits.maxConnections),
    },
    performance: { ...performance, http1ReadConnections: share(performance.http1ReadConnections) },
  };
}
