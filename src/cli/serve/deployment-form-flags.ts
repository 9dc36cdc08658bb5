import type { LocalServerDownPolicy } from '../../proxy/options.ts';
import { unknownVersionInteroperabilityProxy } from '../flags/feature-gates.ts';
import type { FlagReport, FlagValues } from '../flags/flag-values.ts';
import type { ServeFlagName } from '../flags/serve-flags.ts';
import type { IdentityModes } from './api-server-flags.ts';

/** In front of one API server (sidecar), or in front of all (gateway). */
export interface DeploymentForm {
  readonly isGateway: boolean;
  /** ID of the local server; `undefined` in the gateway form, and after an error. */
  readonly serverId: string | undefined;
  /** `undefined` after an error. */
  readonly localServerDownPolicy: LocalServerDownPolicy | undefined;
}

/** What each of them means only where there is a local server. */
const sidecarFlags = [
  'server-id',
  'local-server',
  'local-server-name',
  'local-server-ca-file',
  'local-identity',
  'local-server-down-policy',
] as const satisfies readonly ServeFlagName[];

/**
 * Reads which form the router has. The gateway form has to be asked for: a forgotten --server-id must not make one.
 */
export function readDeploymentForm(
  values: FlagValues,
  report: FlagReport,
  featureGateEnabled: boolean,
): DeploymentForm {
  const isGateway = values.value('gateway') === true;
  if (isGateway) rejectSidecarFlags(values, report, featureGateEnabled);
  return {
    isGateway,
    serverId: isGateway
      ? undefined
      : values.required('server-id', 'the ID of the local API server, as the snapshot has it'),
    localServerDownPolicy: isGateway ? 'peer' : values.value('local-server-down-policy'),
  };
}

function rejectSidecarFlags(values: FlagValues, report: FlagReport, featureGateEnabled: boolean): void {
  if (!featureGateEnabled) {
    report.issue(
      'gateway',
      `--gateway requires ${unknownVersionInteroperabilityProxy} feature to be turned on`,
    );
  }
  for (const name of sidecarFlags) {
    if (!values.isGiven(name)) continue;
    report.issue(name, `--${name} and --gateway exclude each other: no API server is local to a gateway`);
  }
  if (values.isGiven('snapshot-stale-policy') && values.text('snapshot-stale-policy') === 'local') {
    report.issue(
      'snapshot-stale-policy',
      '--snapshot-stale-policy=local and --gateway exclude each other: choose serve-stale (the default) or unavailable',
    );
  }
  // They are also what the OIDC issuer publishes together with its own key.
  if (values.isGiven('assertion-keys') && values.text('peer-identity') !== 'oidc-token') {
    report.issue(
      'assertion-keys',
      '--assertion-keys and --gateway exclude each other: an assertion is addressed to an API server ID, which a gateway does not have',
    );
  }
}

/** A gateway uses the mode for peers with every server: all servers are peers to it. */
export function identityModesOf({ isGateway }: DeploymentForm, modes: IdentityModes): IdentityModes {
  return isGateway ? { local: modes.peer, peer: modes.peer } : modes;
}
