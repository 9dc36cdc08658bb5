/** A router of two API servers that are not there, on port 8080: what it decides can be tried with curl. */
import { serve } from '@hono/node-server';
// In a program of your own: from 'mixed-version-proxy'.
import { buildRoutingTable, createApp, createFetchTransport, snapshotOf } from '../src/index.ts';

const table = buildRoutingTable(
  await snapshotOf({
    old: { address: '10.0.0.1:6443', serves: ['v1/pods', 'batch/v1/jobs'] },
    new: { address: '10.0.0.2:6443', serves: ['v1/pods', 'batch/v1/jobs', 'batch/v1/cronjobs'] },
  }),
);
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
  transport: createFetchTransport({
    fetch: async ({ url }) => Response.json({ answeredBy: new URL(url).host }),
  }),
});

const server = serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 8080) }, ({ port }) => {
  process.stdout.write(`listening on ${port}\n`);
});
process.once('SIGTERM', () => server.close());
