import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { ServedSet } from '../snapshot/format/schema.ts';
import { servedSetKey } from '../snapshot/format/served-set-key.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { type ExplainContext, type Explanation, explainRequest } from './explain.ts';

const createdAt = '2026-01-01T00:00:00Z';
const context: ExplainContext = {
  serverId: 'cp-a',
};
let table: RoutingTable;

before(async () => {
  const older: ServedSet = { storageVersions: { 'core.pods': ['v1'] }, discovery: [] };
  const newer: ServedSet = { storageVersions: { 'core.pods': ['v1'], 'batch.jobs': ['v1'] }, discovery: [] };
  const [olderKey, newerKey] = await Promise.all([servedSetKey(older), servedSetKey(newer)]);
  table = buildRoutingTable({
    apiVersion: 'mixed-version-proxy/v1alpha1',
    kind: 'StorageVersionSnapshot',
    metadata: { generation: 7, createdAt, source: 'discovery' },
    servers: [
      { id: 'cp-a', address: '10.0.0.1:6443', serves: olderKey },
      { id: 'cp-b', address: '10.0.0.2:6443', serves: newerKey },
    ],
    servedSets: { [olderKey]: older, [newerKey]: newer },
    apiServices: [
      {
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        service: { namespace: 'kube-system', name: 'metrics' },
        available: true,
      },
    ],
    customResourceGroups: [],
  });
});

const explain = (method: string, url: string, changes: Partial<ExplainContext> = {}): Explanation =>
  explainRequest({ method, url }, table, { ...context, ...changes });

describe('explaining a request', () => {
  it('says how to write what is neither a path nor a URL', () => {
    for (const url of ['api/v1/pods', 'ftp://host/api/v1/pods']) {
      const { decision, message } = explain('GET', url);
      assert.equal(decision, 'refused');
      assert.equal(message, `write a path that begins with /, or an https:// URL, not ${url}`);
    }
  });

  it('gives request info, decision, reason, candidates with addresses, and the rules walked', () => {
    const explanation = explain('GET', '/apis/batch/v1/namespaces/default/jobs/one');
    assert.equal(explanation.requestInfo?.resource, 'jobs');
    assert.equal(explanation.requestInfo?.namespace, 'default');
    assert.equal(explanation.decision, 'peer');
    assert.equal(explanation.reason, 'ServedByPeer');
    assert.deepEqual(explanation.candidates, [
      { id: 'cp-b', address: '10.0.0.2:6443', serverName: 'kubernetes.default.svc' },
    ]);
    assert.deepEqual(
      explanation.trace.map(({ rule, matched }) => `${rule.split(' ')[0]} ${matched}`),
      ['1 false', '2 false', '3 false', '4 false', '5 false', '6 false', '7 true'],
    );
  });

  it('depends on which server is local', () => {
    assert.equal(explain('GET', '/apis/batch/v1/jobs', { serverId: 'cp-b' }).reason, 'ServedLocally');
    assert.equal(explain('GET', '/api/v1/pods').reason, 'ServedLocally');
    assert.equal(explain('GET', '/apis/example.com/v1/things').reason, 'NotServedByAnyServer');
  });

  it('says what happens before the first snapshot', () => {
    const without = explainRequest({ method: 'GET', url: '/api/v1/pods' }, undefined, context);
    assert.equal(without.reason, 'NoSnapshot');
  });

  it('says that a disguised own path is refused', () => {
    for (const url of [
      '/%2emixed-version-proxy/v1/status',
      '//.mixed-version-proxy/',
      '/.mixed-version-proxy//x',
    ]) {
      assert.match(explain('GET', url).notes.join(), /^the response is 400: /, url);
    }
  });

  it('says that the local server is down where it would be asked, with the gate off, too, and not of what the router serves', () => {
    const down = { localServerIsDown: true };
    const isDown = ['no server that could serve it is healthy: unless one is back the response is 503'];
    assert.deepEqual(explain('GET', '/api/v1/pods', { ...down, enabled: false }).notes, isDown);
    assert.deepEqual(explain('GET', '/metrics', down).notes, isDown);
    for (const url of ['/readyz', '/.mixed-version-proxy/v1/status']) {
      const [note, ...others] = explain('GET', url, down).notes;
      assert.match(note ?? '', /the router/);
      assert.deepEqual(others, []);
    }
  });

  it('leaves aggregated APIs to the aggregator of the local server', () => {
    const { decision, reason } = explain('GET', '/apis/metrics.k8s.io/v1beta1/nodes');
    assert.deepEqual([decision, reason], ['local', 'ExtensionAPIServer']);
  });

  it('calls documents that are merged so, and other paths no resource requests', () => {
    for (const url of ['/apis', '/api', '/apis/batch', '/apis/batch/v1', '/api/v1']) {
      assert.equal(explain('GET', url).reason, 'MergedDocument', url);
    }
    assert.equal(explain('POST', '/apis').reason, 'NotAResourceRequest');
    assert.equal(explain('GET', '/healthz').reason, 'NotAResourceRequest');
    // The sets of this snapshot know nothing of OpenAPI.
    assert.equal(explain('GET', '/openapi/v3').reason, 'NotAResourceRequest');
    const without = explainRequest({ method: 'GET', url: '/apis' }, undefined, context);
    assert.equal(without.reason, 'NoSnapshot');
  });

  it('refuses an ambiguous path, whose meaning an absolute URL cannot hide', () => {
    for (const url of [
      '/api/v1/namespaces/../pods',
      'https://example.com/api/v1/namespaces/%2e%2e/pods',
      'https://example.com\\api\\v1\\pods',
    ]) {
      const explanation = explain('GET', url);
      assert.equal(explanation.decision, 'refused', url);
      assert.equal(explanation.reason, 'AmbiguousRequestTarget');
      assert.equal(explanation.requestInfo, null);
      assert.ok(explanation.message);
    }
    assert.equal(explain('GET', '/api/v1/watch').reason, 'UnableToDetermineResource');
  });

  it('reads an absolute URL as its path and query', () => {
    assert.equal(
      explain('GET', 'https://10.0.0.1:6443/apis/batch/v1/jobs?watch=1#x').requestInfo?.verb,
      'watch',
    );
    assert.equal(explain('GET', 'https://10.0.0.1:6443').requestInfo?.path, '/');
    assert.equal(explain('GET', 'HTTPS://host?x=y').requestInfo?.path, '/');
  });

  it('answers any method and URL without throwing', () => {
    fc.assert(
      fc.property(fc.string(), fc.oneof(fc.string(), fc.webUrl(), fc.webPath()), (method, url) => {
        assert.ok(explain(method, url).reason.length > 0);
      }),
    );
  });
});
