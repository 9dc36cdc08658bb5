import { defaultStalePolicy } from '../routing/decision.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { type Explanation, explainRequest, type RequestToExplain } from './explain.ts';
import type { MixedVersionProxyOptions } from './options.ts';

/** Says where this router would send `request` at this moment. @param now milliseconds since the epoch */
export function explainHere(
  request: RequestToExplain,
  table: RoutingTable | undefined,
  options: Pick<
    MixedVersionProxyOptions,
    | 'serverId'
    | 'enabled'
    | 'localServerDownPolicy'
    | 'health'
    | 'stalePolicy'
    | 'extensionRouting'
    | 'preferredVersion'
  >,
  now: number,
): Explanation {
  const { serverId, localServerDownPolicy = 'peer', health } = options;
  return explainRequest(request, table, {
    serverId,
    localServerIsDown:
      localServerDownPolicy === 'peer' && serverId !== undefined && health?.isUnhealthy(serverId) === true,
    now,
    stalePolicy: options.stalePolicy ?? defaultStalePolicy,
    extensionRouting: options.extensionRouting ?? 'local',
    preferredVersion: options.preferredVersion,
    fromVerifiedPeer: false,
    enabled: options.enabled,
    healthOf: (id) => health?.report(id)?.status,
  });
}
