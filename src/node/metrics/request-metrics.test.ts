import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseScrape, sampleValue } from '../../../test/support/prometheus-text.ts';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { parseRequestInfo } from '../../apimachinery/request-info.ts';
import type { Destination } from '../../request/destination.ts';
import { type InboundRequest, RequestRecord } from '../../request/inbound.ts';
import type { Decision } from '../../routing/decision.ts';
import { buildRoutingTable, renewedTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { createMetricRegistry } from './catalogue.ts';
import { DestinationSeriesIndex } from './connection-metrics.ts';
import { expose } from './metric-family.ts';
import { RequestMetrics } from './request-metrics.ts';

const firstTable = buildRoutingTable(
  snapshotOf(
    { a: ['v1/pods', 'v1/pods/log'], b: ['v1/pods', 'batch/v1/jobs'] },
    { customResourceGroups: [{ group: 'cats.example.com', version: 'v1' }] },
  ),
);
const toPeer: Decision = { decision: 'peer', reason: 'ServedByPeer', candidates: [] };
const peer: Destination = {
  kind: 'peer',
  id: 'b',
  origin: 'https://10.0.0.2:6443',
  serverName: 'kubernetes.default.svc',
  trust: { kind: 'peer-ca' },
};

function measured() {
  let now = 0;
  let table = firstTable;
  const registry = createMetricRegistry();
  const destinations = new DestinationSeriesIndex(registry.destinations);
  const metrics = new RequestMetrics({ registry, destinations, currentTable: () => table });
  const families = () =>
    parseScrape(expose([...Object.values(registry.requests), ...Object.values(registry.destinations)]));
  return {
    registry,
    destinations,
    families,
    use(next: typeof table) {
      table = next;
    },
    wait(milliseconds: number) {
      now += milliseconds;
    },
    value: (name: string, labels: Readonly<Record<string, string>> = {}) =>
      sampleValue(families(), name, labels),
    /** A request that has begun, and what ends it. */
    begin(target: string, method = 'GET', headers: readonly string[] = []) {
      let end = (): void => {};
      const inbound: InboundRequest = {
        method,
        target,
        headers,
        connection: {},
        body: () => null,
        signal: new AbortController().signal,
        onFinished(listener) {
          end = listener;
        },
      };
      const record = new RequestRecord(inbound, [metrics], () => now);
      record.accepted(parseRequestInfo(method, target));
      return { record, end: () => end() };
    },
  };
}

const jobs = { group: 'batch', version: 'v1', resource: 'jobs' };

test('a rerouted request counts when it is over, with the code that the client got', () => {
  const { begin, value } = measured();
  const { record, end } = begin('/apis/batch/v1/jobs');
  record.decision = toPeer;
  record.attemptBegun(peer);
  record.attemptEnded(200);
  record.responded(200);
  assert.equal(value('apiserver_rerouted_request_total', { code: '200', ...jobs }), undefined);
  end();
  assert.equal(value('apiserver_rerouted_request_total', { code: '200', ...jobs }), 1);
});

test('a peer that cannot be reached counts as rerouted with 503, as upstream has it, and as an error of its own', () => {
  const { begin, value } = measured();
  const { record, end } = begin('/apis/batch/v1/jobs');
  record.decision = toPeer;
  record.attemptBegun(peer);
  record.attemptEnded('ConnectFailed');
  record.attemptBegun({ ...peer, id: 'c' });
  record.attemptEnded('Timeout');
  record.responded(503);
  end();
  assert.equal(value('apiserver_rerouted_request_total', { code: '503' }), 1);
  assert.equal(value('apiserver_peer_proxy_errors_total'), undefined);
  const errors = 'mixed_version_proxy_destination_errors_total';
  assert.equal(value(errors, { destination: 'b', error: 'ConnectFailed' }), 1);
  assert.equal(value(errors, { destination: 'c', error: 'Timeout' }), 1);
  assert.equal(value('mixed_version_proxy_second_tries_total', { cause: 'ConnectFailed' }), 1);
});

test('peers without an address and requests that cannot be built are upstream errors', () => {
  const { begin, value } = measured();
  const lost = begin('/apis/batch/v1/jobs');
  lost.record.decision = { decision: 'unavailable', reason: 'PeerAddressUnknown', candidates: [] };
  lost.record.responded(503);
  const unbuilt = begin('/apis/batch/v1/jobs');
  unbuilt.record.decision = toPeer;
  unbuilt.record.attemptBegun(peer);
  unbuilt.record.attemptEnded('AssertionTooLarge');
  const name = 'apiserver_peer_proxy_errors_total';
  assert.equal(value(name, { type: 'endpoint_resolution', ...jobs }), 1);
  assert.equal(value(name, { type: 'proxy_transport', ...jobs }), 1);
});

test('a second try after a response that was not passed on is counted, and each response at its destination', () => {
  const { begin, value } = measured();
  const { record } = begin('/apis/batch/v1/jobs');
  record.decision = toPeer;
  record.attemptBegun(peer);
  record.attemptEnded(404);
  record.attemptBegun({ ...peer, id: 'c' });
  record.attemptEnded(200);
  assert.equal(value('mixed_version_proxy_second_tries_total', { cause: 'NotServed' }), 1);
  const name = 'mixed_version_proxy_destination_requests_total';
  assert.equal(value(name, { destination: 'b', code: '404' }), 1);
  assert.equal(value(name, { destination: 'c', code: '200' }), 1);
});

test('what is in flight is told of each destination that there is', () => {
  const { destinations, value } = measured();
  const name = 'mixed_version_proxy_destination_inflight_requests';
  destinations.retain([peer, { ...peer, id: 'c' }]);
  destinations.tellInFlight((id, kind) => (id === 'b' ? (kind === 'short' ? 2 : 300) : 0));
  assert.equal(value(name, { destination: 'b', request_kind: 'short' }), 2);
  assert.equal(value(name, { destination: 'b', request_kind: 'longRunning' }), 300);
  destinations.retain([{ ...peer, id: 'c' }]);
  destinations.tellInFlight(() => 1);
  assert.equal(value(name, { destination: 'b', request_kind: 'short' }), undefined);
  assert.equal(value(name, { destination: 'c', request_kind: 'short' }), 1);
});

test('a tunnel counts as open until its socket closes', () => {
  const { begin, value } = measured();
  const { record, end } = begin('/api/v1/namespaces/a/pods/b/exec', 'POST');
  record.responded(101);
  const open = () => value('mixed_version_proxy_current_inflight_requests', { request_kind: 'longRunning' });
  assert.equal(open(), 1);
  end();
  assert.equal(open(), 0);
  assert.equal(value('mixed_version_proxy_requests_total', { code: '101' }), 1);
});

test('a client that goes away before a response is no answered request', () => {
  const { begin, families } = measured();
  begin('/api/v1/pods').end();
  assert.deepEqual(families().get('mixed_version_proxy_requests_total')?.samples, []);
});

test('durations are seconds, and the own share ends where the destination begins', () => {
  const { begin, wait, families } = measured();
  const { record, end } = begin('/apis/batch/v1/jobs');
  wait(20);
  record.attemptBegun(peer);
  wait(300);
  record.attemptEnded(200);
  record.responded(200);
  wait(1000);
  end();
  const sum = (name: string) =>
    families()
      .get(name)
      ?.samples.find((sample) => sample.name === `${name}_sum`)?.value;
  assert.equal(sum('mixed_version_proxy_routing_duration_seconds'), 0.02);
  assert.equal(sum('mixed_version_proxy_destination_response_duration_seconds'), 0.3);
  assert.equal(sum('mixed_version_proxy_request_duration_seconds'), 1.32);
});

test("who asks for the local server's own view is counted", () => {
  const { begin, value } = measured();
  begin('/apis', 'GET', [
    'Accept',
    'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer',
  ]);
  begin('/apis', 'GET', ['Accept', 'application/json']);
  assert.equal(value('aggregator_discovery_nopeer_requests_total'), 1);
});

test('requests for one resource count apart by verb, scope and subresource, however they come', () => {
  const { begin, value } = measured();
  const v1 = { group: '', version: 'v1', resource: 'pods' };
  const kinds = [
    { target: '/api/v1/pods', method: 'GET', labels: { verb: 'LIST', scope: 'cluster' } },
    { target: '/api/v1/pods?watch=1', method: 'GET', labels: { verb: 'WATCH', scope: 'cluster' } },
    { target: '/api/v1/namespaces/a/pods', method: 'GET', labels: { verb: 'LIST', scope: 'namespace' } },
    { target: '/api/v1/namespaces/a/pods', method: 'POST', labels: { verb: 'POST', scope: 'namespace' } },
    { target: '/api/v1/namespaces/a/pods/b', method: 'GET', labels: { verb: 'GET', scope: 'resource' } },
    {
      target: '/api/v1/namespaces/a/pods/b',
      method: 'DELETE',
      labels: { verb: 'DELETE', scope: 'resource' },
    },
  ];
  for (let turn = 0; turn < 3; turn++) {
    for (const { target, method } of kinds) {
      const { record, end } = begin(target, method);
      record.responded(200);
      end();
    }
  }
  for (const { target, labels } of kinds) {
    const series = { ...v1, ...labels, subresource: '', code: '200' };
    assert.equal(value('mixed_version_proxy_requests_total', series), 3, `${labels.verb} ${target}`);
  }
});

test('10,000 requests for what they make up themselves make no more series than one of each kind', () => {
  const { begin, families } = measured();
  const count = (): number => [...families().values()].reduce((sum, { samples }) => sum + samples.length, 0);
  const ask = (target: string, method: string): void => {
    const { record, end } = begin(target, method);
    record.responded(200);
    end();
  };
  const kinds = [
    (word: string) => `/apis/${word}.example.com/v1/${word}`,
    (word: string) => `/apis/batch/${word}/jobs`,
    (word: string) => `/apis/cats.example.com/v1/${word}`,
    (word: string) => `/api/v1/namespaces/${word}/pods/${word}/${word}x`,
    (word: string) => `/${word}`,
  ];
  const methods = ['GET', 'POST', 'PURGE'];
  for (const kind of kinds) for (const method of methods) ask(kind('first'), method);
  const before = count();
  const words = fc.sample(fc.stringMatching(/^[a-z][a-z0-9]{8,12}$/), { numRuns: 10_000, seed: 7 });
  for (const [index, word] of words.entries()) {
    const kind = kinds[index % kinds.length];
    if (kind !== undefined) ask(kind(word), methods[index % 2] ?? 'GET');
  }
  for (let index = 0; index < 1_000; index++) ask('/api/v1/pods', `PURGE${index}`);
  const ofPods = 1;
  assert.equal(count(), before + ofPods, 'one known resource under the verb other, and nothing else');
});

test('series of a destination go with it, also while a request is under way to it', () => {
  const { begin, families, destinations, registry } = measured();
  const { record, end } = begin('/apis/batch/v1/jobs');
  record.attemptBegun(peer);
  registry.destinations.putAside.with('b').add();
  registry.destinations.putAside.with('c').add();
  destinations.retain([{ ...peer, id: 'c' }]);
  record.attemptEnded(200);
  record.responded(200);
  end();
  assert.equal(JSON.stringify([...families().values()]).includes('"destination":"b"'), false);
  assert.equal(families().get(registry.destinations.putAside.definition.name)?.samples.length, 1);
});

test('series of a resource that is gone make room, and what still runs counts as other', () => {
  const { begin, families, use, value } = measured();
  const pass = (target: string): void => {
    const { record, end } = begin(target);
    record.decision = toPeer;
    record.responseBytes?.add(1);
    record.responded(200);
    end();
  };
  pass('/apis/batch/v1/jobs');
  pass('/apis/cats.example.com/v1/tabbies');
  pass('/api/v1/pods');
  const watch = begin('/apis/batch/v1/jobs?watch=1');
  watch.record.decision = toPeer;
  watch.record.responded(200);
  use(buildRoutingTable(snapshotOf({ a: ['v1/pods', 'v1/pods/log'] }, { generation: 2 })));
  pass('/api/v1/pods');
  watch.end();
  const text = JSON.stringify([...families().values()].map(({ samples }) => samples));
  for (const gone of ['jobs', 'cats.example.com']) assert.doesNotMatch(text, new RegExp(gone));
  const requests = 'mixed_version_proxy_requests_total';
  assert.equal(value(requests, { verb: 'WATCH', group: 'other', resource: 'other' }), 1);
  assert.equal(value(requests, { resource: 'pods' }), 2, 'what stays goes on counting');
});

test('a renewed snapshot changes no series', () => {
  const { begin, use, value } = measured();
  const pass = (): void => {
    const { record, end } = begin('/apis/batch/v1/jobs');
    record.responded(200);
    end();
  };
  pass();
  use(renewedTable(firstTable, new Date(60_000).toISOString()));
  pass();
  assert.equal(value('mixed_version_proxy_requests_total', jobs), 2);
});

test('probes, own paths and what another router sends are told from what clients ask', () => {
  const { begin, value } = measured();
  const pass = (target: string, reason: 'NotAResourceRequest' | 'AlreadyRerouted'): void => {
    const { record, end } = begin(target);
    record.decision = { decision: 'local', reason, candidates: [] };
    record.responded(500);
    end();
  };
  const paths = {
    '/readyz?verbose': '/readyz',
    '/readyz/etcd': '/readyz',
    '/livez': '/livez',
    '/healthz': '/healthz',
    '/.mixed-version-proxy/v1/status': '/.mixed-version-proxy',
    '/version': '',
    '/readyzz': '',
  };
  for (const path of Object.keys(paths)) pass(path, 'NotAResourceRequest');
  pass('/apis/batch/v1/jobs', 'AlreadyRerouted');
  const requests = 'mixed_version_proxy_requests_total';
  for (const subresource of new Set(Object.values(paths))) {
    const expected = Object.values(paths).filter((each) => each === subresource).length;
    assert.equal(value(requests, { source: 'client', subresource, code: '500' }), expected, subresource);
  }
  assert.equal(value(requests, { source: 'router' }), 1);
});
