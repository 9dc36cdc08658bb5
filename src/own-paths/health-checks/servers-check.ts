import type { ServerHealth } from '../../health/server-health.ts';
import type { MixedVersionProxyOptions } from '../../proxy/options.ts';
import { type HealthCheck, serversCheckName } from './health.ts';

export interface ServersCheckOptions
  extends Pick<MixedVersionProxyOptions, 'serverId' | 'localServerDownPolicy'> {
  readonly health: Pick<ServerHealth, 'isHealthy' | 'reports'>;
}

/**
 * Ready while a server that this router could use is healthy: any of them in the gateway form; else the local one,
 * or under the policy `peer` one that takes its place. A single peer that is down does not make the router unready.
 *
 * A peer that asks is told of the local server alone, which is all that what it sends here may be served by. With
 * routers that count each other, a control plane whose API servers are all down would be ready for ever.
 */
export function serversCheck({
  serverId,
  localServerDownPolicy = 'peer',
  health,
}: ServersCheckOptions): HealthCheck {
  return {
    name: serversCheckName,
    check({ byPeer }) {
      if (serverId !== undefined && health.isHealthy(serverId)) return undefined;
      const peersCount = serverId === undefined || (localServerDownPolicy === 'peer' && !byPeer);
      if (peersCount && health.reports().some(({ status }) => status === 'healthy')) return undefined;
      return peersCount
        ? 'no API server is healthy: all are down, or have not responded to a probe yet'
        : 'the local API server is not healthy: it is down, or has not responded to a probe yet';
    },
  };
}
