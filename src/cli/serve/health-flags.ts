import type { HealthConfig } from '../../node/configuration/serve-config.ts';
import { healthFlagGroup } from '../flags/api-server-flag-groups.ts';
import { unknownVersionInteroperabilityProxy } from '../flags/feature-gates.ts';
import type { FlagReport, FlagValues } from '../flags/flag-values.ts';

/**
 * Reads how the health of the API servers is found out: `'off'` where they are not probed, `undefined` after a
 * error. With the feature gate off there is no server to choose from, and nothing is probed.
 */
export function readHealthFlags(
  values: FlagValues,
  report: FlagReport,
  featureGateEnabled: boolean,
): HealthConfig | 'off' | undefined {
  if (!featureGateEnabled) {
    for (const { name } of healthFlagGroup.flags) {
      if (!values.isGiven(name)) continue;
      report.issue(name, `--${name} requires ${unknownVersionInteroperabilityProxy} feature to be turned on`);
    }
    return 'off';
  }
  const name = 'health-check-interval';
  const interval = values.value(name);
  // Shorter ones would be a load of their own for the servers.
  if (interval !== undefined && interval > 0 && interval < 100) {
    report.issue(name, `--${name} must be 0s or at least 100ms, not "${values.text(name)}"`);
  }
  const checks = values.values({
    timeout: 'health-check-timeout',
    rise: 'health-check-rise',
    fall: 'health-check-fall',
    slowStart: 'slow-start-duration',
  });
  if (interval === undefined || checks === undefined) return undefined;
  return interval === 0 ? 'off' : { interval, ...checks };
}
