import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  aggregatedResponse,
  classicResponses,
  type FakeResponse,
  fakeServer,
  hangs,
  jsonDocument,
  plainNotFound,
  refusesConnections,
} from '../../../test/support/api-servers/fake-server-documents.ts';
import { ownDiscoveryAccept } from '../../discovery/own-documents.ts';
import { readServer } from './read-server.ts';
import type { ReadErrorCode } from './server-documents.ts';
import { apiServicesPath } from './shared-objects.ts';
import type { ServerReading } from './sync-server.ts';

const served = { v1: ['pods', 'pods/log'], 'apps/v1': ['deployments'], 'batch/v1': ['jobs', 'jobs/status'] };

function successful(reading: ServerReading): Extract<ServerReading, { ok: true }> {
  assert.ok(reading.ok, reading.ok ? '' : reading.reason);
  return reading;
}

test('a group version that /apis lists and for which the server returns its own 404 is not served', async () => {
  const reading = await readServer(fakeServer(classicResponses(served, ['autoscaling/v2beta2'])));
  const { set, version } = successful(reading);
  assert.deepEqual(set.storageVersions, {
    'core.pods': ['v1'],
    'apps.deployments': ['v1'],
    'batch.jobs': ['v1'],
  });
  assert.deepEqual(set.subresources, { 'core.pods': { v1: ['log'] }, 'batch.jobs': { v1: ['status'] } });
  assert.equal(version, 'v1.25.0');
});

test('accepts the server’s own view first, and the form of older servers last', async () => {
  const accepts = new Set<string>();
  const server = fakeServer(classicResponses(served));
  await readServer({
    get: (path, accept, signal) => {
      if (path === '/apis') accepts.add(accept);
      return server.get(path, accept, signal);
    },
  });
  assert.deepEqual([...accepts], [ownDiscoveryAccept, 'application/json']);
  assert.deepEqual(
    ownDiscoveryAccept.split(',').map((clause) => /v=[^;]*|$/.exec(clause)?.[0]),
    ['v=v2', 'v=v2', 'v=v2beta1', ''],
  );
  assert.match(ownDiscoveryAccept.split(',')[0] ?? '', /;profile=nopeer$/);
});

const aggregatedPods = {
  metadata: { creationTimestamp: null },
  versions: [
    {
      version: 'v1',
      resources: [
        {
          resource: 'pods',
          responseKind: { group: '', version: '', kind: 'Pod' },
          scope: 'Namespaced',
          singularResource: 'pod',
          verbs: ['get'],
          subresources: [{ subresource: 'log', verbs: ['get'] }],
        },
      ],
    },
  ],
};

test('a Stale group version of an extension API server that is down is still served', async () => {
  const stale = {
    metadata: { name: 'metrics.k8s.io' },
    versions: [
      {
        version: 'v1beta1',
        freshness: 'Stale',
        resources: [{ resource: 'nodes', scope: 'Cluster', singularResource: '', verbs: ['get'] }],
      },
    ],
  };
  const server = fakeServer({
    '/api': aggregatedResponse([aggregatedPods]),
    '/apis': aggregatedResponse([stale]),
  });
  const { set } = successful(await readServer(server));
  assert.deepEqual(set.storageVersions, { 'core.pods': ['v1'], 'metrics.k8s.io.nodes': ['v1beta1'] });
  assert.deepEqual(
    set.discovery?.map(({ versions }) => versions?.[0]?.freshness),
    [undefined, 'Stale'],
  );
});

test('a legacy group counts only where /api gives it, a named group only where /apis does', async () => {
  const group = (name: string | undefined, resource: string) => ({
    metadata: name === undefined ? {} : { name },
    versions: [{ version: 'v1', resources: [{ resource }] }],
  });
  const server = fakeServer({
    '/api': aggregatedResponse([group(undefined, 'pods'), group('apps', 'smuggled')]),
    '/apis': aggregatedResponse([group('apps', 'deployments'), group('', 'smuggled')]),
  });
  const { set } = successful(await readServer(server));
  assert.deepEqual(Object.keys(set.storageVersions), ['core.pods', 'apps.deployments']);
  assert.equal(set.discovery?.length, 2);
});

test('a server whose /api is aggregated and whose /apis is not is read in the classic form', async () => {
  const responses: Record<string, FakeResponse> = classicResponses(served);
  const server = fakeServer(responses);
  const half = {
    get: (path: string, accept: string) =>
      path === '/api' && accept !== 'application/json'
        ? Promise.resolve(aggregatedResponse([aggregatedPods])())
        : server.get(path, accept),
  };
  const { set } = successful(await readServer(half));
  assert.deepEqual(Object.keys(set.storageVersions), ['core.pods', 'apps.deployments', 'batch.jobs']);
});

test('an extension API server that is down does not fail the reading of an old server', async () => {
  const server = fakeServer(classicResponses(served, ['metrics.k8s.io/v1beta1']));
  server.responses.set('/apis/metrics.k8s.io/v1beta1', () =>
    jsonDocument({ kind: 'Status', code: 503 }, 503),
  );
  const withoutApiService = await readServer(server);
  assert.equal(withoutApiService.ok, false);

  const service = { namespace: 'kube-system', name: 'metrics-server' };
  server.responses.set(apiServicesPath, {
    items: [{ spec: { group: 'metrics.k8s.io', version: 'v1beta1', service } }],
  });
  const { set } = successful(await readServer(server));
  assert.deepEqual(set.discovery?.at(-1), {
    metadata: { name: 'metrics.k8s.io' },
    versions: [{ version: 'v1beta1', freshness: 'Stale' }],
  });
});

const issues: Record<string, readonly [ReadErrorCode, FakeResponse]> = {
  'refuses connections': ['Unreachable', refusesConnections],
  hangs: ['Unreachable', hangs],
  'returns 500': ['UnexpectedStatus', () => jsonDocument({ kind: 'Status', code: 500 }, 500)],
  'returns 503': ['UnexpectedStatus', () => jsonDocument({ kind: 'Status', code: 503 }, 503)],
  'returns 403': ['UnexpectedStatus', () => jsonDocument({ kind: 'Status', code: 403 }, 403)],
  redirects: ['UnexpectedStatus', () => ({ status: 302, contentType: '', body: '' })],
  'returns half a document': [
    'InvalidDocument',
    () => ({ status: 200, contentType: 'application/json', body: '{"kind":"APIGroupList","gro' }),
  ],
  'returns a document without its list': ['InvalidDocument', { kind: 'APIResourceList' }],
  'returns a Status with code 200': ['InvalidDocument', { kind: 'Status', status: 'Failure' }],
  'returns the document of another group version': [
    'InvalidDocument',
    { kind: 'APIResourceList', groupVersion: 'other/v1', resources: [] },
  ],
  'returns an HTML page': [
    'UnexpectedContentType',
    () => ({ status: 200, contentType: 'text/html', body: '<html>' }),
  ],
  'has a load balancer that returns an HTML 404': [
    'UnexpectedStatus',
    () => ({ status: 404, contentType: 'text/html', body: '<html>' }),
  ],
};

for (const [name, [code, response]] of Object.entries(issues)) {
  for (const path of ['/api', '/apis', '/api/v1', '/apis/apps/v1', '/apis/batch/v1']) {
    test(`a server whose ${path} ${name} does not count as serving less`, async () => {
      const server = fakeServer({ ...classicResponses(served), [path]: response });
      const reading = await readServer(server, { timing: { readTimeout: 50 } });
      assert.equal(reading.ok, false);
      if (!reading.ok) assert.equal(reading.code, code);
    });
  }
}

test('a server without /api does not count as serving no core group', async () => {
  const server = fakeServer({ ...classicResponses(served), '/api': () => plainNotFound });
  assert.equal((await readServer(server)).ok, false);
});

test('empty discovery is that of a server that is still starting', async () => {
  const aggregated = fakeServer({ '/api': aggregatedResponse([]), '/apis': aggregatedResponse([]) });
  const classic = fakeServer(classicResponses({}));
  for (const server of [aggregated, classic]) {
    const reading = await readServer(server);
    assert.ok(!reading.ok);
    assert.equal(reading.code, 'NothingServed');
  }
});

test('a version and an OpenAPI index that cannot be read leave only themselves unknown', async () => {
  for (const broken of [issues['returns 500']?.[1] ?? hangs, issues['returns an HTML page']?.[1] ?? hangs]) {
    const responses = { ...classicResponses(served), '/version': broken, '/openapi/v3': broken };
    const { version, openApi, set } = successful(await readServer(fakeServer(responses)));
    assert.equal(version, undefined);
    assert.equal(openApi.kind, 'failed');
    assert.equal(Object.keys(set.storageVersions).length, 3);
  }
});

test('an OpenAPI index that hangs costs the reading nothing but itself', async () => {
  const responses = { ...classicResponses(served), '/openapi/v3': hangs, '/version': hangs };
  const { openApi } = successful(await readServer(fakeServer(responses), { timing: { readTimeout: 1_000 } }));
  assert.equal(openApi.kind, 'failed');
});

test('a server without an OpenAPI v3 index is known to have none', async () => {
  const { openApi } = successful(await readServer(fakeServer(classicResponses(served))));
  assert.equal(openApi.kind, 'not-served');
});

test('never asks for more documents at once than it may', async () => {
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`g${index}/v1`, ['things']]));
  const server = fakeServer(classicResponses(many));
  let running = 0;
  let most = 0;
  const counted = {
    async get(path: string, accept: string) {
      const isResourceList = path.startsWith('/apis/g');
      if (isResourceList) most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      if (isResourceList) running--;
      return server.get(path, accept);
    },
  };
  successful(await readServer(counted, { timing: { concurrentDocuments: 4 } }));
  assert.equal(most, 4);
});

test('a read that is called off ends', async () => {
  const controller = new AbortController();
  const reading = readServer(fakeServer({ '/api': hangs, '/apis': hangs }), { signal: controller.signal });
  controller.abort();
  assert.equal((await reading).ok, false);
});
