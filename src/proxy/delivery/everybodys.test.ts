import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { localId, mixedCluster } from '../../../test/support/decision-rows.ts';
import { recordingTransport } from '../../../test/support/recording-transport.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { testApp, userConnection } from '../../../test/support/test-app.ts';
import { parseRequestInfo } from '../../apimachinery/request-info.ts';
import { TransportError } from '../../request/destination.ts';
import { notServedStatus } from './judge-response.ts';
import { DeniedEverywhere } from './other-servers.ts';

const plainNotFound = () =>
  new Response('404 page not found\n', {
    status: 404,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'content-length': '19' },
  });
const statusNotFound = () =>
  new Response(notServedStatus, {
    status: 404,
    headers: { 'content-type': 'application/json', 'content-length': String(notServedStatus.length) },
  });

/** What one server may know before another does. */
const everybodys = {
  'a custom resource': '/apis/example.com/v1/namespaces/default/widgets',
  'an aggregated API': '/apis/metrics.k8s.io/v1beta1/nodes',
  'a resource that the snapshot does not know yet': '/apis/new.example.com/v1/namespaces/default/things',
  'the discovery of a group version that the snapshot does not know yet': '/apis/new.example.com/v1',
  'an OpenAPI document that the snapshot does not know yet': '/openapi/v3/apis/new.example.com/v1',
} as const;

const withoutAWord = () => new Response(null, { status: 404, headers: { 'content-length': '0' } });

const gateway = { serverId: undefined, local: undefined };

/** @param has whether a server has what is asked for */
async function start(
  has: (id: string) => boolean,
  { answer = plainNotFound, ...options }: Parameters<typeof testApp>[0] & { answer?: () => Response } = {},
) {
  const list = { kind: 'APIResourceList', groupVersion: 'new.example.com/v1', resources: [] };
  const transport = recordingTransport(({ destination }) =>
    has(destination.id) ? Response.json(list) : answer(),
  );
  const connection = userConnection('alice', ['dev']);
  return testApp({ snapshot: mixedCluster, transport, connection, ...options });
}

describe('a server that denies to have what is the same for all of them', () => {
  for (const [what, path] of Object.entries(everybodys)) {
    for (const [form, options] of Object.entries({ sidecar: {}, gateway })) {
      test(`is not believed while another one has it: ${what}, ${form}`, async () => {
        for (const answer of [plainNotFound, statusNotFound]) {
          const { app, transport } = await start((id) => id === 'peer-3', { ...options, answer });
          const response = await app.request(`https://router.example${path}`);
          assert.equal(response.status, 200);
          const asked = transport.sent.map(({ destination }) => destination.id);
          assert.equal(new Set(asked).size, asked.length, 'each server once');
        }
      });
    }
  }

  test('is not believed where it says so without a word, as of an OpenAPI document', async () => {
    for (const options of [{}, gateway]) {
      const { app } = await start((id) => id === 'peer-3', { ...options, answer: withoutAWord });
      const path = everybodys['an OpenAPI document that the snapshot does not know yet'];
      assert.equal((await app.request(`https://router.example${path}`)).status, 200);
    }
    const { app, transport } = await start(() => false, { answer: withoutAWord });
    assert.equal((await app.request('https://router.example/version')).status, 404);
    assert.equal(transport.sent.length, 1);
  });

  test('is not believed by a write either, which reaches the other one as it was', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'POST']) {
      const { app, transport } = await start((id) => id !== localId);
      const response = await app.request(`https://router.example${everybodys['a custom resource']}`, {
        method,
      });
      assert.equal(response.status, 200, method);
      assert.deepEqual(
        transport.sent.map((sent) => sent.method),
        [method, method],
      );
    }
  });

  test('is believed when the others deny it, too: its own response stands', async () => {
    for (const answer of [plainNotFound, statusNotFound]) {
      const { app, transport } = await start(() => false, { answer });
      const response = await app.request(`https://router.example${everybodys['a custom resource']}`);
      assert.deepEqual([response.status, await response.text()], [404, await answer().text()]);
      assert.equal(transport.sent.length, 4);
    }
  });

  test('is believed for a second after that, so that what exists nowhere does not cost every server each request', async () => {
    let now = 0;
    const { app, transport } = await start(() => false, { monotonicClock: () => now });
    const ask = () => app.request(`https://router.example${everybodys['a custom resource']}`);
    await ask();
    for (let count = 0; count < 10; count++) assert.equal((await ask()).status, 404);
    assert.equal(transport.sent.length, 4 + 10);
    now = 1_000;
    await ask();
    assert.equal(transport.sent.length, 4 + 10 + 4);
  });

  test('is believed where it is the only one, and where the others are down', async () => {
    const alone = await start(() => false, { snapshot: snapshotOf({ [localId]: ['v1/pods'] }) });
    assert.equal((await alone.app.request('https://router.example/apis/no.example.com/v1/x')).status, 404);
    assert.equal(alone.transport.sent.length, 1);
    const transport = recordingTransport(({ destination }) => {
      if (destination.id === localId) return plainNotFound();
      throw new TransportError('ConnectFailed', 'refused', { mayHaveBeenProcessed: false });
    });
    const { app } = await testApp({ snapshot: mixedCluster, transport });
    assert.equal((await app.request('https://router.example/apis/no.example.com/v1/x')).status, 404);
  });

  test('is believed of a write whose body is gone, and of one that another server may have carried out nothing is said', async () => {
    const { app, transport } = await start((id) => id !== localId);
    const url = `https://router.example${everybodys['a custom resource']}`;
    assert.equal((await app.request(url, { method: 'POST', body: '{}' })).status, 404);
    assert.equal(transport.sent.length, 1);
    const silent = recordingTransport(({ destination }) => {
      if (destination.id === localId) return plainNotFound();
      throw new TransportError('Timeout', 'no response', { mayHaveBeenProcessed: true });
    });
    const started = await testApp({ snapshot: mixedCluster, transport: silent });
    assert.notEqual((await started.app.request(url, { method: 'DELETE' })).status, 404);
  });

  test('is believed where it says that the object does not exist', async () => {
    const status = { kind: 'Status', reason: 'NotFound', details: { name: 'w1', kind: 'widgets' } };
    const { app, transport } = await start(() => false, {
      answer: () => Response.json(status, { status: 404 }),
    });
    const response = await app.request(`https://router.example${everybodys['a custom resource']}/w1`);
    assert.deepEqual(await response.json(), status);
    assert.equal(transport.sent.length, 1);
  });

  test('is believed of what is one server’s own', async () => {
    for (const path of ['/metrics/slis', '/logs/kube-apiserver.log', '/debug/pprof/']) {
      for (const options of [{}, gateway]) {
        const { app, transport } = await start(() => false, options);
        assert.equal((await app.request(`https://router.example${path}`)).status, 404);
        assert.equal(transport.sent.length, 1, path);
      }
    }
  });

  test('is believed of discovery that the snapshot knows of others', async () => {
    const { app, transport } = await start((id) => id !== localId, { snapshot: batchOfPeer });
    const response = await app.request('https://router.example/apis/batch/v1');
    assert.match(await response.text(), /"name":"jobs"/);
    assert.equal(transport.sent.length, 1);
  });
});

const discovery = (group: string, resource: string) => [
  {
    metadata: { name: group },
    versions: [{ version: 'v1', resources: [{ resource, responseKind: { kind: 'Job' }, verbs: ['get'] }] }],
  },
];
const batchOfPeer = snapshotOf({
  [localId]: { serves: ['apps/v1/deployments'], discovery: discovery('apps', 'deployments') },
  peer: { serves: ['batch/v1/jobs'], discovery: discovery('batch', 'jobs') },
});

describe('what is denied everywhere', () => {
  const widgets = parseRequestInfo('GET', '/apis/example.com/v1/namespaces/default/widgets/one');

  test('is remembered by group, version, resource and subresource', () => {
    const denied = new DeniedEverywhere(
      () => 0,
      () => undefined,
    );
    denied.add(widgets);
    assert.ok(denied.has(parseRequestInfo('POST', '/apis/example.com/v1/namespaces/other/widgets')));
    for (const path of [
      '/apis/example.com/v1/gadgets',
      '/apis/example.com/v1/namespaces/a/widgets/b/status',
    ]) {
      assert.ok(!denied.has(parseRequestInfo('GET', path)), path);
    }
  });

  test('is forgotten with another snapshot, which may know it', () => {
    let snapshot = {};
    const denied = new DeniedEverywhere(
      () => 0,
      () => snapshot,
    );
    denied.add(widgets);
    assert.ok(denied.has(widgets));
    snapshot = {};
    assert.ok(!denied.has(widgets));
  });

  test('is bounded: the oldest is forgotten', () => {
    const denied = new DeniedEverywhere(
      () => 0,
      () => undefined,
    );
    denied.add(widgets);
    for (let index = 0; index < 1_000; index++) {
      denied.add(parseRequestInfo('GET', `/apis/example.com/v1/things${index}`));
    }
    assert.ok(!denied.has(widgets));
  });
});
