/** A router of two API servers that are not there, on port 8080: what it decides can be tried with curl. */
import { serve } from '@hono/node-server';
// In a program of your own: from 'mixed-version-proxy'.
import { testCluster } from '../src/index.ts';

const { app } = testCluster({
  old: ['v1/pods', 'batch/v1/jobs'],
  new: ['v1/pods', 'batch/v1/jobs', 'batch/v1/cronjobs'],
});

const server = serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 8080) }, ({ port }) => {
  process.stdout.write(`listening on ${port}\n`);
});
process.once('SIGTERM', () => server.close());
