import type { ServerHealth } from '../../health/server-health.ts';
import type { MixedVersionProxyOptions } from '../../proxy/options.ts';
import { type CredentialFiles, credentialFileWarnings } from '../status/credential-files.ts';
import { type EmbeddedSyncStatus, embeddedSyncWarnings } from '../status/embedded-sync-status.ts';
import { lacksOwnServer } from '../status/own-server.ts';
import { oldSnapshotWarnings, type RouterStatusOptions } from '../status/router-status.ts';
import type { SettingsState } from '../status/setting-change.ts';
import { type HealthCheck, ping, serversCheckName } from './health.ts';
import type { HealthEndpoint } from './health-endpoints.ts';

export interface RouterHealthOptions
  extends Pick<MixedVersionProxyOptions, 'routingTable' | 'enabled' | 'clock'>,
    Omit<ServersCheckOptions, 'health'>,
    Pick<RouterStatusOptions, 'credentialFiles' | 'settings' | 'embeddedSync'> {
  /** Default: no server is probed, and none makes the router unready. */
  readonly health?: ServersCheckOptions['health'] | undefined;
  /** Default: the process does not say. */
  readonly isShuttingDown?: (() => boolean) | undefined;
}

/** What a router checks of itself, by endpoint. `/livez`: the process responds; the others: it can do its work. */
export function routerHealthChecks(
  options: RouterHealthOptions,
): Readonly<Record<HealthEndpoint, readonly HealthCheck[]>> {
  const { health, credentialFiles, settings, isShuttingDown } = options;
  const readyz = [
    ping,
    snapshotCheck(options),
    ...(health === undefined ? [] : [serversCheck({ ...options, health })]),
    ...(credentialFiles === undefined ? [] : [filesCheck(credentialFiles, settings)]),
    ...(isShuttingDown === undefined ? [] : [shutdownCheck(isShuttingDown)]),
  ];
  return { livez: [ping], readyz, healthz: readyz };
}

/**
 * Never fails: a router that goes on with the files it has is better than none. Only says where there is something to
 * see to, since everyone may ask.
 */
function filesCheck(files: CredentialFiles, settings: SettingsState | undefined): HealthCheck {
  return {
    name: 'files',
    check: () => undefined,
    warning() {
      if (credentialFileWarnings(files).length > 0) {
        return 'a file is not in use as it is now, or a certificate has expired: the status names it';
      }
      const waits = (settings?.needsRestart().length ?? 0) > 0;
      return waits ? 'changed settings need a restart: the status names them' : undefined;
    },
  };
}

interface ServersCheckOptions extends Pick<MixedVersionProxyOptions, 'local'> {
  readonly health: Pick<ServerHealth, 'isHealthy' | 'missing' | 'reports'>;
}

/**
 * Ready while a server that this router could use is healthy: any of them in the gateway form; else the local one,
 * or one that takes its place. A single peer that is down does not make the router unready.
 *
 * A peer that asks is told of the local server alone, which is all that what it sends here may be served by. With
 * routers that count each other, a control plane whose API servers are all down would be ready for ever. While what
 * it sends is refused (it is not known to be ready), it is told so. The status comes later, after several failures, so that load
 * balancers do not see every restart.
 */
export function serversCheck(options: ServersCheckOptions): HealthCheck {
  const { health } = options;
  return {
    name: serversCheckName,
    check({ byPeer }) {
      const serverId = options.local?.id;
      const missing = serverId === undefined ? undefined : health.missing(serverId);
      const refusesPeers = missing !== undefined && missing !== 'served-set';
      if (serverId !== undefined && health.isHealthy(serverId) && !(byPeer && refusesPeers)) return undefined;
      const peersCount = serverId === undefined || !byPeer;
      if (peersCount && health.reports().some(({ status }) => status === 'healthy')) return undefined;
      return peersCount
        ? 'no API server is healthy: all are down, or have not responded to a probe yet'
        : 'the local API server is not healthy: it is down, or has not responded to a probe yet';
    },
  };
}

/**
 * Readiness ends with the first signal to end, long before the router does, so that load balancers take it out
 * while it still serves (kube-apiserver's `/readyz/shutdown`).
 */
function shutdownCheck(isShuttingDown: () => boolean): HealthCheck {
  return {
    name: 'shutdown',
    check: () => (isShuttingDown() ? 'the process is shutting down' : undefined),
  };
}

/**
 * Ready once there has been a snapshot. An old one is a warning of `?verbose`: the router still does its work, and a
 * sync job that stopped must not take every router of the control plane out of the load balancer at once.
 */
function snapshotCheck(options: RouterHealthOptions): HealthCheck {
  const { routingTable, enabled = true, clock = Date.now, embeddedSync } = options;
  return {
    name: 'snapshot',
    check() {
      if (!enabled) return undefined;
      if (routingTable.current() !== undefined) return undefined;
      return `there has been no snapshot yet: ${whyThereIsNone(embeddedSync?.())}`;
    },
    warning() {
      const table = routingTable.current();
      if (!enabled || table === undefined) return undefined;
      const warnings = oldSnapshotWarnings(table, clock(), embeddedSync !== undefined);
      if (lacksOwnServer(table, options.local?.id)) {
        warnings.push(
          'the snapshot has no server with the ID of the local one: the status names those it has',
        );
      }
      return warnings.length === 0 ? undefined : warnings.join('; ');
    },
  };
}

function whyThereIsNone(reading: EmbeddedSyncStatus | undefined): string {
  if (reading === undefined) return 'is the sync job running?';
  const [first = 'the cluster is being read'] = embeddedSyncWarnings(reading);
  return first;
}
