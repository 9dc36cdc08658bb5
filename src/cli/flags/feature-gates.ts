import { parseBoolean } from './flag-types.ts';
import { type ServeFlagValues, serveFlags } from './serve-flags.ts';

const unknownVersionInteroperabilityProxy = 'UnknownVersionInteroperabilityProxy';

/** Reads `--feature-gates`; the one gate there is stays on unless it is turned off. */
export function readFeatureGate(flags: ServeFlagValues): boolean {
  let enabled = true;
  for (const entry of flags.list('feature-gates')) {
    if (entry.trim() === '') continue;
    const [gate = '', setting] = entry.split('=', 2).map((part) => part.trim());
    if (gate !== unknownVersionInteroperabilityProxy) {
      flags.issue(
        'feature-gates',
        `--feature-gates: unrecognized feature gate: ${gate} (there is ${unknownVersionInteroperabilityProxy})`,
      );
      continue;
    }
    const value = setting === undefined ? undefined : parseBoolean(setting);
    if (value === undefined) {
      flags.issue(
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
export function rejectFlagsThatNeedTheGate(flags: ServeFlagValues): void {
  for (const { name, needsFeatureGate } of serveFlags) {
    if (needsFeatureGate !== true || !flags.isUsed(name)) continue;
    flags.issue(name, `--${name} requires ${unknownVersionInteroperabilityProxy} feature to be turned on`);
  }
}
