import { routerStatus } from '../../../src/own-paths/status/router-status.ts';
import type { RouterStatus } from '../../../src/own-paths/status/status-schema.ts';
import type { Snapshot } from '../../../src/snapshot/format/schema.ts';
import { buildRoutingTable } from '../../../src/snapshot/routing-table/build-routing-table.ts';

/** Status of a router: ready, without a snapshot. */
export function statusView(serverId: string | null): RouterStatus {
  return {
    form: serverId === null ? 'gateway' : 'sidecar',
    serverId,
    localServer: null,
    keyFiles: [],
    readiness: { ready: true, failures: [] },
    enabled: true,
    preferredVersion: {
      configured: 'majority',
      minor: null,
      coming: null,
      enforcementDiffers: false,
    },
    snapshot: null,
    served: null,
    embeddedSync: null,
    found: [],
    servers: [],
    certificates: [],
    warnings: [],
  };
}

/** Status of a gateway that has this snapshot, and no view of health. */
export function statusOf(snapshot: Snapshot): RouterStatus {
  const table = buildRoutingTable(snapshot);
  return routerStatus({ routingTable: { current: () => table } }, { ready: true, failures: [] }, Date.now());
}

/** A healthy server as a router lists it. */
export function listedServer(
  fields: Partial<RouterStatus['servers'][number]> = {},
): RouterStatus['servers'][number] {
  return {
    id: 'cp-a',
    hostname: null,
    local: false,
    address: null,
    addressSource: null,
    version: 'v1.36.0',
    serves: null,
    stale: false,
    departedAt: null,
    health: { status: 'ready', reason: null, since: null },
    ...fields,
  };
}
