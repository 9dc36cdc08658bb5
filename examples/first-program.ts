/** A router of two API servers that are not there, on port 8080: what it decides can be tried with curl. */
import { serve } from '@hono/node-server';
// In a program of your own: from 'mixed-version-proxy'.
import { buildRoutingTable, createApp, passedOnResponse } from '../src/index.ts';

const table = buildRoutingTable({
  apiVersion: 'mixed-version-proxy/v1alpha1',
  kind: 'StorageVersionSnapshot',
  metadata: { generation: 1, createdAt: new Date().toISOString(), source: 'discovery' },
  servers: [
    { id: 'old', address: '10.0.0.1:6443', serves: 'what the old one serves' },
    { id: 'new', address: '10.0.0.2:6443', serves: 'what the new one serves' },
  ],
  servedSets: {
    'what the old one serves': { storageVersions: { 'core.pods': ['v1'], 'batch.jobs': ['v1'] } },
    'what the new one serves': {
      storageVersions: { 'core.pods': ['v1'], 'batch.jobs': ['v1'], 'batch.cronjobs': ['v1'] },
    },
  },
  apiServices: [],
  customResourceGroups: [],
});
const app = createApp({
  // The server that the router stands in front of.
  local: {
    kind: 'local',
    id: 'old',
    origin: 'https://10.0.0.1:6443',
    serverName: 'kubernetes.default.svc',
    trust: { kind: 'peer-ca' },
  },
  routingTable: { current: () => table },
  // Reaches the servers. This one responds in their place.
  transport: {
    send: async ({ destination }) => passedOnResponse(Response.json({ answeredBy: destination.id })),
  },
});

const server = serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 8080) }, ({ port }) => {
  process.stdout.write(`listening on ${port}\n`);
});
process.once('SIGTERM', () => server.close());
