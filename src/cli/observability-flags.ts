import type { ServeConfig } from '../node/serve-config.ts';
import type { FlagValues } from './flag-values.ts';

/** @returns `undefined` when a fault was reported. */
export function readObservabilityFlags(values: FlagValues): ServeConfig['observability'] | undefined {
  const metrics = values.boolean('enable-metrics');
  return metrics === undefined ? undefined : { metrics };
}
