import type { HealthConfig } from '../../node/configuration/serve-config.ts';
import type { ServeFlagValues } from '../flags/serve-flags.ts';

/**
 * A probe that takes five seconds is one that a load balancer would have given up, too. Two good answers bring a server
 * back, three bad ones take it out, as in HAProxy. A recovered server has cold caches: it gets its part over half a minute.
 */
const probing: Omit<HealthConfig, 'interval'> = { timeout: 5_000, rise: 2, fall: 3, slowStart: 30_000 };

/**
 * Reads how the health of the API servers is found out: `'off'` where they are not probed, `undefined` after an
 * error. With the feature gate off there is no server to choose from, and nothing is probed.
 */
export function readHealthFlags(
  flags: ServeFlagValues,
  featureGateEnabled: boolean,
): HealthConfig | 'off' | undefined {
  if (!featureGateEnabled) return 'off';
  const name = 'health-check-interval';
  const interval = flags.value(name);
  // Shorter ones would be a load of their own for the servers.
  if (interval !== undefined && interval > 0 && interval < 100) {
    flags.issue(name, `--${name} must be 0s or at least 100ms, not "${flags.text(name)}"`);
  }
  if (interval === undefined) return undefined;
  return interval === 0 ? 'off' : { interval, ...probing };
}
