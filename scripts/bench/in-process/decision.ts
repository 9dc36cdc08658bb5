/**
 * What one decision costs: parse the request, look it up, decide, choose a server. Over every request that
 * kubectl was recorded to send, against a snapshot of 50 servers with 400 resources each: all of one version, and of three
 * that understand every resource differently.
 *
 * Timed in batches of one request, since the clock is coarser than a decision; printed as microseconds. Run it
 * on Node 26: `npm run bench:decision`.
 */
import { readFileSync } from 'node:fs';
import { parseRequestInfo } from '../../../src/apimachinery/request-info.ts';
import { chooseServer } from '../../../src/proxy/delivery/server-choice.ts';
import { decide } from '../../../src/routing/decide.ts';
import type { DecisionContext } from '../../../src/routing/decision.ts';
import { buildRoutingTable } from '../../../src/snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../../src/snapshot/routing-table/routing-table.ts';
import { type ServerOptions, snapshotOf } from '../../../test/support/snapshot-builder.ts';

const batchSize = 2_000;
const batches = 15;

interface Recorded {
  readonly requests: readonly { readonly method: string; readonly url: string }[];
}

const recorded = JSON.parse(
  readFileSync(new URL('../../../test/fixtures/kubectl-requests.json', import.meta.url), 'utf8'),
) as readonly Recorded[];
const requests = recorded.flatMap((command) => command.requests);

const tables = { 'one version': tableOf(1), 'three versions': tableOf(3) };
const context: DecisionContext = {
  // Serves next to nothing itself, so that every resource is looked up, decided to a peer and chosen.
  serverId: 'server-0',
  now: Date.now(),
  reroutedByVerifiedPeer: false,
  stalePolicy: 'local',
  extensionRouting: 'local',
};
const load = { inFlight: () => 1, isAvoided: () => false, weight: () => 1 };

for (const [name, table] of Object.entries(tables)) {
  const perRequest = requests
    .map(({ method, url }) => bestOfBatches(table, method, url))
    .sort((a, b) => a - b);
  const at = (share: number) =>
    perRequest[Math.min(perRequest.length - 1, Math.floor(perRequest.length * share))];
  console.log(`${name}: ${requests.length} requests, ${table.servers.length} servers; µs for one decision`);
  for (const [mark, share] of [
    ['median', 0.5],
    ['p90', 0.9],
    ['p99', 0.99],
    ['max', 1],
  ] as const) {
    console.log(`${mark.padEnd(8)}${(at(share) ?? Number.NaN).toFixed(2)}`);
  }
  console.log(`heap after 1,000,000 decisions: ${heapGrowth(table)} KiB more than before`);
}

function decideOnce(table: RoutingTable, method: string, url: string): unknown {
  const requestInfo = parseRequestInfo(method, url);
  const decision = decide(requestInfo, table, context);
  return decision.decision === 'peer' ? chooseServer(decision.candidates, load, Math.random) : decision;
}

/** Each request gets a fresh string each time: a real one has not been hashed or flattened before. */
function bestOfBatches(table: RoutingTable, method: string, url: string): number {
  const bytes = Buffer.from(url);
  let best = Number.POSITIVE_INFINITY;
  for (let batch = 0; batch < batches; batch++) {
    const urls = Array.from({ length: batchSize }, () => bytes.toString('latin1'));
    const start = process.hrtime.bigint();
    for (const fresh of urls) decideOnce(table, method, fresh);
    best = Math.min(best, Number(process.hrtime.bigint() - start) / batchSize / 1_000);
  }
  return best;
}

/** KiB that a million decisions leave behind once collected; what grows with the snapshot would show. */
function heapGrowth(table: RoutingTable): number {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  for (let round = 0; round < 1_000_000; round++) {
    const request = requests[round % requests.length];
    if (request !== undefined) decideOnce(table, request.method, request.url);
  }
  globalThis.gc?.();
  return Math.round((process.memoryUsage().heapUsed - before) / 1024);
}

/** @param versions minor versions that the servers have in turn, each with schemas of its own where there are several */
function tableOf(versions: number): RoutingTable {
  const resources = new Set(
    requests
      .map(({ method, url }) => parseRequestInfo(method, url))
      .filter((info) => info.isResourceRequest)
      .map((info) => `${info.apiGroup === '' ? '' : `${info.apiGroup}/`}${info.apiVersion}/${info.resource}`),
  );
  for (let index = 0; resources.size < 400; index++)
    resources.add(`group-${index % 20}.example/v1/resources${index}`);
  const servers: Record<string, ServerOptions> = {
    'server-0': { serves: ['node.k8s.io/v1/runtimeclasses'] },
  };
  for (let index = 1; index < 50; index++) {
    servers[`server-${index}`] = {
      serves: [...resources],
      version: `v1.${30 + (index % versions)}.0`,
      // None could be read, so each counts as another one.
      ...(versions > 1 ? { schemas: {} } : {}),
    };
  }
  return buildRoutingTable(snapshotOf(servers));
}
