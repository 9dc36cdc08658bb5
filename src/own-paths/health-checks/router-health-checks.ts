import type { CredentialFiles } from '../status/credential-files.ts';
import type { SettingsState } from '../status/setting-change.ts';
import { filesCheck } from './files-check.ts';
import { type HealthCheck, ping } from './health.ts';
import type { HealthEndpoint } from './health-endpoints.ts';
import { type ServersCheckOptions, serversCheck } from './servers-check.ts';
import { shutdownCheck } from './shutdown-check.ts';
import { type SnapshotCheckOptions, snapshotCheck } from './snapshot-check.ts';

export interface RouterHealthOptions
  extends SnapshotCheckOptions,
    Pick<ServersCheckOptions, 'serverId' | 'localServerDownPolicy'> {
  /** Default: no server is probed, and none makes the router unready. */
  readonly health?: ServersCheckOptions['health'] | undefined;
  /** Default: there are no files to see to. */
  readonly credentialFiles?: CredentialFiles | undefined;
  readonly settings?: SettingsState | undefined;
  /** Default: the process does not say. */
  readonly isShuttingDown?: (() => boolean) | undefined;
}

/** What a router checks of itself, by endpoint. `/livez`: the process responds; the others: it can do its work. */
export function routerHealthChecks(
  options: RouterHealthOptions,
): Readonly<Record<HealthEndpoint, readonly HealthCheck[]>> {
  const { health, serverId, localServerDownPolicy, credentialFiles, settings, isShuttingDown } = options;
  const readyz = [
    ping,
    snapshotCheck(options),
    ...(health === undefined ? [] : [serversCheck({ health, serverId, localServerDownPolicy })]),
    ...(credentialFiles === undefined ? [] : [filesCheck(credentialFiles, settings)]),
    ...(isShuttingDown === undefined ? [] : [shutdownCheck(isShuttingDown)]),
  ];
  return { livez: [ping], readyz, healthz: readyz };
}
