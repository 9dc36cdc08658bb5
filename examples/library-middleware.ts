/** An API server written with Hono that sends what only a peer serves to that peer. */

import { Hono } from 'hono';
import {
  type Destination,
  mixedVersionProxy,
  type RoutingTableSource,
  type Transport,
} from '../src/index.ts';

/**
 * @param local your own server: its ID as in the snapshot, and where it can be reached, for merged documents
 * @param routingTable the snapshot in force; in production a `SnapshotReceiver`, which checks what is pushed to it
 * @param transport how peers are reached; on Node `NodeTransport` of 'mixed-version-proxy/node'
 */
export function createApiServer(local: Destination, routingTable: RoutingTableSource, transport: Transport) {
  const app = new Hono();
  app.use(mixedVersionProxy({ local, routingTable, transport }));
  // Resources that this server serves itself: reached only by requests that belong here.
  app.get('/apis/batch/v1/jobs', (context) =>
    context.json({ kind: 'JobList', apiVersion: 'batch/v1', metadata: {}, items: [] }),
  );
  return app;
}
