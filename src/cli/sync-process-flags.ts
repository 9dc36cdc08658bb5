import { isIP } from 'node:net';
import type { RunSyncLeaderElection } from '../sync/node/run-sync-options.ts';
import type { CommandContext } from './command-context.ts';
import { parseDuration } from './duration.ts';
import { readRequiredFlagFile } from './flag-files.ts';

/** The flags of `sync` that concern it as a process: its endpoints, and several of it. */
export interface SyncProcessFlags {
  readonly bindAddress?: string;
  readonly healthPort?: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly leaderElect?: true;
  readonly leaderElectLeaseName?: string;
  readonly leaderElectLeaseNamespace?: string;
  readonly leaderElectLeaseDuration?: string;
}

const defaultHealthPort = 7469;
const defaultLeaseName = 'mixed-version-proxy-sync';
const defaultLeaseNamespace = 'kube-system';

/** Where the process's endpoints are to be. */
export interface EndpointFlags {
  readonly address: string;
  readonly port: number;
  readonly tls: { readonly certificate: string; readonly key: string } | undefined;
}

/** @returns `undefined` when they are turned off */
export function readEndpointFlags(
  flags: SyncProcessFlags,
  context: CommandContext,
  faults: string[],
): EndpointFlags | undefined {
  const { bindAddress: address = '127.0.0.1', healthPort = String(defaultHealthPort) } = flags;
  const { tlsCertFile, tlsPrivateKeyFile } = flags;
  const port = /^\d{1,5}$/.test(healthPort) ? Number(healthPort) : Number.NaN;
  if (!(port <= 65_535)) {
    faults.push(`--health-port must be a port between 1 and 65535, or 0 for none, not "${healthPort}"`);
  }
  if (isIP(address) === 0) faults.push(`--bind-address must be an IP address, not "${address}"`);
  const tls =
    tlsCertFile === undefined && tlsPrivateKeyFile === undefined
      ? undefined
      : {
          certificate: readRequiredFlagFile('--tls-cert-file', tlsCertFile, context, faults),
          key: readRequiredFlagFile('--tls-private-key-file', tlsPrivateKeyFile, context, faults),
        };
  return port === 0 ? undefined : { address, port, tls };
}

export function readLeaderElectionFlags(
  flags: SyncProcessFlags,
  faults: string[],
): RunSyncLeaderElection | undefined {
  const { leaderElect, leaderElectLeaseName, leaderElectLeaseNamespace, leaderElectLeaseDuration } = flags;
  if (leaderElect !== true) {
    for (const [flag, value] of [
      ['--leader-elect-lease-name', leaderElectLeaseName],
      ['--leader-elect-lease-namespace', leaderElectLeaseNamespace],
      ['--leader-elect-lease-duration', leaderElectLeaseDuration],
    ] as const) {
      if (value !== undefined) faults.push(`${flag} needs --leader-elect beside it`);
    }
    return undefined;
  }
  const leaseDuration =
    leaderElectLeaseDuration === undefined ? undefined : parseDuration(leaderElectLeaseDuration);
  const isWhole = leaseDuration !== undefined && leaseDuration >= 1000 && leaseDuration % 1000 === 0;
  if (leaderElectLeaseDuration !== undefined && !isWhole) {
    faults.push(
      `--leader-elect-lease-duration must be whole seconds, such as 15s, not "${leaderElectLeaseDuration}"`,
    );
  }
  return {
    name: leaderElectLeaseName ?? defaultLeaseName,
    namespace: leaderElectLeaseNamespace ?? defaultLeaseNamespace,
    leaseDuration,
  };
}
