/** The routing filter in a test of your own: no socket, no clock, no cluster. */

import { Hono } from 'hono';
import {
  mixedVersionProxy,
  type OutboundRequest,
  passedOnResponse,
  type RoutingTable,
  type Transport,
} from '../src/index.ts';
import { local, twoVersions } from './two-versions.ts';

/** What was sent where, and the answer that came back. */
export interface Observed {
  readonly status: number;
  readonly sent: readonly OutboundRequest[];
}

/**
 * Asks a router in front of the old server.
 * @param now milliseconds since the epoch, for the router and for the age of its snapshot
 */
export async function ask(method: string, path: string, now: number): Promise<Observed> {
  const sent: OutboundRequest[] = [];
  const transport: Transport = {
    async send(outbound) {
      sent.push(outbound);
      return passedOnResponse(Response.json({ answeredBy: outbound.destination.id }));
    },
  };
  const table: RoutingTable = twoVersions(0);
  const router = new Hono()
    .use(
      mixedVersionProxy({
        local,
        routingTable: { current: () => table },
        transport,
        clock: () => now,
        random: () => 0,
      }),
    )
    .all('*', (context) => context.text('the local server', 200));
  const { status } = await router.fetch(new Request(`https://router.example${path}`, { method }));
  return { status, sent };
}
