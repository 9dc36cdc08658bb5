import type { HealthConfig } from '../node/serve-config.ts';
import { readDuration } from './duration-flag.ts';
import { unknownVersionInteroperabilityProxy } from './feature-gates.ts';
import type { FlagReport, FlagValues } from './flag-values.ts';
import { healthFlagGroup } from './health-flag-group.ts';

/** More would take longer than anybody waits. */
const mostChecks = 100;

/**
 * Reads how the health of the API servers is found out: `'off'` where they are not probed, `undefined` after a
 * fault. With the feature gate off there is nobody to choose from, and nothing is probed.
 */
export function readHealthFlags(
  values: FlagValues,
  report: FlagReport,
  featureGateEnabled: boolean,
): HealthConfig | 'off' | undefined {
  if (!featureGateEnabled) {
    for (const { name } of healthFlagGroup.flags) {
      if (!values.isGiven(name)) continue;
      report.fault(name, `--${name} requires ${unknownVersionInteroperabilityProxy} feature to be turned on`);
    }
    return 'off';
  }
  const interval = readInterval(values, report);
  const timeout = readDuration(values, report, 'health-check-timeout', { shortest: '100ms', longest: '1h' });
  const rise = values.integer('health-check-rise', 1, mostChecks);
  const fall = values.integer('health-check-fall', 1, mostChecks);
  const slowStart = readDuration(values, report, 'slow-start-duration', { shortest: '0s', longest: '1h' });
  if (
    interval === undefined ||
    timeout === undefined ||
    rise === undefined ||
    fall === undefined ||
    slowStart === undefined
  ) {
    return undefined;
  }
  return interval === 0 ? 'off' : { interval, timeout, rise, fall, slowStart };
}

function readInterval(values: FlagValues, report: FlagReport): number | undefined {
  const name = 'health-check-interval';
  const interval = readDuration(values, report, name, { shortest: '0s', longest: '1h' });
  // Shorter ones would be a load of their own for the servers.
  if (interval === undefined || interval === 0 || interval >= 100) return interval;
  return report.fault(name, `--${name} must be 0s or at least 100ms, not "${values.text(name)}"`);
}
