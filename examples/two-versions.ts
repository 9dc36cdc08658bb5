/** The cluster of the examples: an old server that lacks CronJobs and a new one that has them. */
// In a program of your own: from 'mixed-version-proxy'.
import { buildRoutingTable, type Destination, type RoutingTable } from '../src/index.ts';

const oldServer = 'apiserver-old';
export const newServer = 'apiserver-new';

/** The server that a router stands in front of. */
export const local: Destination = {
  kind: 'local',
  id: oldServer,
  origin: 'https://10.0.0.1:6443',
  serverName: 'kubernetes.default.svc',
  trust: { kind: 'peer-ca' },
};

/** Of a schema, as the sync job makes it. */
const digest = `sha256:${'0'.repeat(64)}`;

/**
 * @param createdAt milliseconds since the epoch
 * @param newAddress where the new server is
 */
export function twoVersions(createdAt: number, newAddress = '10.0.0.2:6443'): RoutingTable {
  return buildRoutingTable({
    apiVersion: 'mixed-version-proxy/v1alpha1',
    kind: 'StorageVersionSnapshot',
    metadata: {
      generation: 1,
      createdAt: new Date(createdAt).toISOString(),
      source: 'discovery',
    },
    servers: [
      { id: oldServer, address: '10.0.0.1:6443', version: 'v1.20.0', serves: 'old' },
      { id: newServer, address: newAddress, version: 'v1.21.0', serves: 'new' },
    ],
    servedSets: {
      // Equal digests: both understand Jobs alike. Without digests one version would answer for both.
      old: { storageVersions: { 'batch.jobs': ['v1'] }, schemas: { 'batch.jobs': { v1: digest } } },
      new: {
        storageVersions: { 'batch.jobs': ['v1'], 'batch.cronjobs': ['v1'] },
        schemas: { 'batch.jobs': { v1: digest }, 'batch.cronjobs': { v1: digest } },
      },
    },
    apiServices: [],
    customResourceGroups: [],
  });
}
