/**
 * What metrics and the history of the last hour cost a request: every call that the router makes while one request
 * passes, with a snapshot of 400 resources, in microseconds. `npm run bench:metrics`, on Node 26.
 */
import { parseRequestInfo } from '../../../src/apimachinery/request-info.ts';
import { DestinationSeriesIndex } from '../../../src/node/metrics/destination-series.ts';
import { createMetricRegistry } from '../../../src/node/metrics/metric-registry.ts';
import { RequestMetrics } from '../../../src/node/metrics/request-metrics.ts';
import { RouterHistory } from '../../../src/own-paths/history/router-history.ts';
import type { Destination } from '../../../src/request/destination.ts';
import type { InboundRequest } from '../../../src/request/inbound.ts';
import { observeRequest, type RequestObserver } from '../../../src/request/request-observer.ts';
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
const history = new RouterHistory({ preferredMinor: () => undefined });
history.tableInUse(buildRoutingTable(snapshotOf({ a: resources, b: resources })));
const historyOfParts = new RouterHistory({ preferredMinor: () => undefined });
historyOfParts.tableInUse(table);
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
    headers: ['Host', 'a', 'Accept', '*/*', 'User-Agent', 'kubectl/v1.36.0'],
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

const observed: readonly (readonly [string, readonly RequestObserver[]])[] = [
  ['metrics', [metrics]],
  ['history', [history]],
  ['history, all partly served', [historyOfParts]],
];
const off: number[] = [];
const on = observed.map((): number[] => []);
for (let round = 0; round < rounds; round++) {
  off.push(measure([]));
  for (const [index, [, observers]] of observed.entries()) on[index]?.push(measure(observers));
}
const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
const nobody = median(off);
console.log(`CPU for one request, median of ${rounds} rounds of ${requests}`);
console.log(`${'nobody observes'.padEnd(28)}${nobody.toFixed(3)} µs`);
for (const [index, [name]] of observed.entries()) {
  const cost = median(on[index] ?? []);
  console.log(`${name.padEnd(28)}${cost.toFixed(3)} µs, ${(cost - nobody).toFixed(3)} µs more`);
}
