/**
 * What metrics cost a request: every call that the router makes while one request passes, to the metrics of a
 * snapshot of 400 resources, as microseconds and bytes. `npm run bench:metrics`, on Node 26.
 */
import { parseRequestInfo } from '../../../src/apimachinery/request-info.ts';
import { DestinationSeriesIndex } from '../../../src/node/metrics/destination-series.ts';
import { createMetricRegistry } from '../../../src/node/metrics/metric-registry.ts';
import { RequestMetrics } from '../../../src/node/metrics/request-metrics.ts';
import type { Destination } from '../../../src/request/destination.ts';
import type { InboundRequest } from '../../../src/request/inbound.ts';
import type { RequestObserver } from '../../../src/request/request-observer.ts';
import { observeRequest } from '../../../src/request/request-observer.ts';
import type { Decision } from '../../../src/routing/decision.ts';
import { buildRoutingTable } from '../../../src/snapshot/routing-table/build-routing-table.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';

const requests = 200_000;
const rounds = 7;
const resources = Array.from({ length: 400 }, (_, index) => `group${index % 20}.io/v1/things${index}`);
const table = buildRoutingTable(snapshotOf({ a: ['v1/pods'], b: resources }));
const registry = createMetricRegistry();
const metrics = new RequestMetrics({
  registry,
  destinations: new DestinationSeriesIndex(registry.destinations),
  currentTable: () => table,
});
const caller = {
  kind: 'authenticated',
  user: { name: 'jane', uid: '', groups: [], extra: new Map() },
  authenticator: 'x509',
  viaVerifiedPeer: false,
} as const;
const decision: Decision = { decision: 'peer', reason: 'ServedByPeer', candidates: [] };
const destination: Destination = {
  kind: 'peer',
  id: 'b',
  origin: 'https://10.0.0.2:6443',
  serverName: 'kubernetes.default.svc',
  trust: { kind: 'peer-ca' },
};
// Fresh strings for each, as a request has them.
const infos = resources.map((path) => parseRequestInfo('GET', `/apis/${path}/name`));

function pass(observers: readonly RequestObserver[], index: number): void {
  let over = (): void => {};
  const inbound: InboundRequest = {
    method: 'GET',
    target: '/',
    headers: [],
    connection: {},
    body: () => null,
    signal: neverAborted,
    onFinished(listener) {
      over = listener;
    },
  };
  inbound.observed = observeRequest(observers, inbound);
  const { observed } = inbound;
  const info = infos[index % infos.length];
  if (info !== undefined) observed?.accepted(info);
  observed?.identified(caller);
  observed?.decided(decision);
  observed?.attemptBegun(destination);
  observed?.outboundHeaders(destination);
  observed?.attemptResponded(200);
  observed?.responded(200);
  over();
}

const neverAborted = new AbortController().signal;

function measure(observers: readonly RequestObserver[]): number {
  const start = process.cpuUsage();
  for (let index = 0; index < requests; index++) pass(observers, index);
  const { user, system } = process.cpuUsage(start);
  return (user + system) / requests;
}

const on: number[] = [];
const off: number[] = [];
for (let round = 0; round < rounds; round++) {
  off.push(measure([]));
  on.push(measure([metrics]));
}
const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
console.log(`CPU for one request, median of ${rounds} rounds of ${requests}`);
console.log(`nobody observes  ${median(off).toFixed(3)} µs`);
console.log(`metrics          ${median(on).toFixed(3)} µs, ${(median(on) - median(off)).toFixed(3)} µs more`);
