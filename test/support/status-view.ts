import type { RouterStatus } from '../../src/own-paths/status/status-schema.ts';

/** What a router tells of itself: ready, without a snapshot. */
export function statusView(serverId: string | null): RouterStatus {
  return {
    form: serverId === null ? 'gateway' : 'sidecar',
    serverId,
    localServer: null,
    undecodable: [],
    keyFiles: [],
    needsRestart: [],
    readiness: { ready: true, failures: [] },
    enabled: true,
    preferredVersion: {
      configured: 'majority',
      scope: 'differing',
      minor: null,
      coming: null,
      enforcementDiffers: false,
      required: false,
    },
    snapshot: null,
    embeddedSync: null,
    found: [],
    servers: [],
    certificates: [],
    documents: [],
    warnings: [],
  };
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
    health: { status: 'healthy', cause: null, since: null },
    ...fields,
  };
}
