import type { RunSyncLeaderElection } from '../../sync/node/run-sync-options.ts';
import { type GivenSyncFlags, syncFlagValue } from '../flags/sync-flag-groups.ts';
import type { CommandContext } from '../terminal/command-context.ts';
import { readRequiredFlagFile } from '../terminal/flag-files.ts';

/** Where the process's endpoints are to be. */
export interface EndpointFlags {
  readonly address: string;
  readonly port: number;
  readonly tls: { readonly certificate: string; readonly key: string } | undefined;
}

/** @returns `undefined` when they are turned off */
export function readEndpointFlags(
  flags: GivenSyncFlags,
  context: CommandContext,
  faults: string[],
): EndpointFlags | undefined {
  const { tlsCertFile, tlsPrivateKeyFile } = flags;
  const port = syncFlagValue('health-port', flags.healthPort, faults);
  const address = syncFlagValue('bind-address', flags.bindAddress, faults);
  const tls =
    tlsCertFile === undefined && tlsPrivateKeyFile === undefined
      ? undefined
      : {
          certificate: readRequiredFlagFile('--tls-cert-file', tlsCertFile, context, faults),
          key: readRequiredFlagFile('--tls-private-key-file', tlsPrivateKeyFile, context, faults),
        };
  return port === 0 || port === undefined || address === undefined ? undefined : { address, port, tls };
}

export function readLeaderElectionFlags(
  flags: GivenSyncFlags,
  faults: string[],
): RunSyncLeaderElection | undefined {
  const { leaderElect, leaderElectLeaseName, leaderElectLeaseNamespace, leaderElectLeaseDuration } = flags;
  if (leaderElect !== true) {
    for (const [flag, value] of [
      ['--leader-elect-lease-name', leaderElectLeaseName],
      ['--leader-elect-lease-namespace', leaderElectLeaseNamespace],
      ['--leader-elect-lease-duration', leaderElectLeaseDuration],
    ] as const) {
      if (value !== undefined) faults.push(`${flag} needs --leader-elect`);
    }
    return undefined;
  }
  return {
    name: syncFlagValue('leader-elect-lease-name', leaderElectLeaseName, faults) ?? '',
    namespace: syncFlagValue('leader-elect-lease-namespace', leaderElectLeaseNamespace, faults) ?? '',
    leaseDuration: syncFlagValue('leader-elect-lease-duration', leaderElectLeaseDuration, faults),
  };
}
