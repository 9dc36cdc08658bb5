import { parseBoolean } from './flag-types.ts';
import type { FlagReport, FlagValues } from './flag-values.ts';

export const unknownVersionInteroperabilityProxy = 'UnknownVersionInteroperabilityProxy';

/** Reads `--feature-gates`; the one gate there is stays on unless it is turned off. */
export function readFeatureGate(values: FlagValues, report: FlagReport): boolean {
  let enabled = true;
  for (const entry of values.list('feature-gates')) {
    if (entry.trim() === '') continue;
    const [gate = '', setting] = entry.split('=', 2).map((part) => part.trim());
    if (gate !== unknownVersionInteroperabilityProxy) {
      report.issue(
        'feature-gates',
        `--feature-gates: unrecognized feature gate: ${gate} (there is ${unknownVersionInteroperabilityProxy})`,
      );
      continue;
    }
    const value = setting === undefined ? undefined : parseBoolean(setting);
    if (value === undefined) {
      report.issue(
        'feature-gates',
        `--feature-gates: ${gate} must be set to true or false, as in ${gate}=true`,
      );
    } else {
      enabled = value;
    }
  }
  return enabled;
}

/** These flags mean nothing with the gate off, and upstream refuses to start with them then. */
export function rejectFlagsThatNeedTheGate(values: FlagValues, report: FlagReport): void {
  for (const name of ['peer-ca-file', 'peer-advertise-ip', 'peer-advertise-port'] as const) {
    if (values.isGiven(name)) {
      report.issue(name, `--${name} requires ${unknownVersionInteroperabilityProxy} feature to be turned on`);
    }
  }
}
