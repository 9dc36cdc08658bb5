import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { localId, mixedCluster } from '../../test/support/clusters/decision-rows.ts';
import { recordingTransport } from '../../test/support/routers/recording-transport.ts';
import { testApp, userConnection } from '../../test/support/routers/test-app.ts';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { TransportError } from '../request/destination.ts';
import type { Decision, DecisionReason } from '../routing/decision.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import {
  contentToJudge,
  isEverybodys,
  isServedBySnapshot,
  notServedStatus,
  refusalIn,
  shuttingDownStatus,
} from './judge-response.ts';
import { ServedNowhere } from './other-servers.ts';

const plainNotFound = () =>
  new Response('404 page not found\n', {
    status: 404,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'content-length': '19' },
  });

/** Jobs are served by peers alone, pods by everybody. */
const jobs = 'https://router.example/apis/batch/v1/namespaces/default/jobs';
const pods = 'https://router.example/api/v1/namespaces/default/pods';

/** @param denies whether the n-th server that is asked has no such path. */
async function start(denies: (attempt: number) => boolean, answer: () => Response = plainNotFound) {
  let attempts = 0;
  const transport = recordingTransport(({ destination }) =>
    denies(attempts++) ? answer() : Response.json({ answeredBy: destination.id }),
  );
  return testApp({ snapshot: mixedCluster, transport, connection: userConnection('alice', ['dev']) });
}

test('a server without what the snapshot says it has is replaced by another one that should have it', async () => {
  for (const url of [jobs, pods]) {
    const { app, transport } = await start((attempt) => attempt === 0);
    assert.equal((await app.request(url)).status, 200, url);
    const [first, second] = transport.sent;
    assert.equal(transport.sent.length, 2, url);
    assert.notEqual(first?.destination.id, second?.destination.id, url);
  }
});

test('so is a peer that was asked instead of a local server that is down', () => {
  const requestInfo = parseRequestInfo('GET', '/apis/batch/v1/namespaces/default/jobs');
  const asked = (inPlaceOf: DecisionReason): Decision => ({
    decision: 'peer',
    reason: 'LocalServerDown',
    inPlaceOf,
    candidates: [],
  });
  assert.ok(isServedBySnapshot(asked('ServedLocally')));
  // A resource that nobody is known to serve is no server's own.
  assert.ok(!isServedBySnapshot(asked('NotServedByAnyServer')));
  assert.ok(isEverybodys({ decision: asked('NotServedByAnyServer'), requestInfo }));
});

/** As API servers of 1.25 to 1.33 answer under a group that they have in another version. */
const statusNotFound = () =>
  new Response(notServedStatus, {
    status: 404,
    headers: { 'content-type': 'application/json', 'content-length': String(notServedStatus.length) },
  });

test('the same where the server has the group in another version, and says so in a Status', async () => {
  for (const url of [jobs, pods, `${jobs}/one`]) {
    const { app, transport } = await start((attempt) => attempt === 0, statusNotFound);
    assert.equal((await app.request(url)).status, 200, url);
    assert.equal(transport.sent.length, 2, url);
  }
  const { app } = await start(() => true, statusNotFound);
  const response = await app.request(jobs);
  assert.equal(response.status, 404);
  assert.equal(await response.text(), notServedStatus);
});

test('a write is asked of another server too, for a server without the resource has carried nothing out', async () => {
  for (const answer of [plainNotFound, statusNotFound]) {
    for (const [method, url] of [
      ['POST', jobs],
      ['PUT', `${jobs}/one`],
      ['PATCH', `${jobs}/one`],
      ['DELETE', `${jobs}/one`],
      ['DELETE', pods],
    ] as const) {
      const { app, transport } = await start((attempt) => attempt === 0, answer);
      const response = await app.request(url, { method });
      assert.equal(response.status, 200, `${method} ${url}`);
      assert.deepEqual(
        transport.sent.map((sent) => sent.method),
        [method, method],
      );
    }
  }
});

test('a write whose body is gone gets 503 and Retry-After, for it was not carried out', async () => {
  for (const answer of [plainNotFound, statusNotFound]) {
    const { app, transport } = await start(() => true, answer);
    const response = await app.request(jobs, { method: 'POST', body: '{}' });
    assert.equal(response.status, 503);
    assert.equal(response.headers.get('retry-after'), '1');
    assert.equal(transport.sent.length, 1);
  }
});

test('a 404 in protobuf is read: of another server is asked where it says that the path is not there, not the object', async () => {
  const inProtobuf = (content: string) => () =>
    new Response(bytesOf(content), {
      status: 404,
      headers: { 'content-type': protobuf, 'content-length': String(content.length) },
    });
  const served = await start((attempt) => attempt === 0, inProtobuf(notServedInProtobuf));
  // With this name both are 116 bytes long.
  const url = `${jobs}/job-1234`;
  assert.equal((await served.app.request(url, { method: 'DELETE' })).status, 200);
  const object = statusInProtobuf(
    'jobs.batch "job-1234" not found',
    '\n\bjob-1234\x12\x05batch\x1a\x04jobs(\x002\x00',
  );
  assert.equal(object.length, 116);
  const missing = await start(() => true, inProtobuf(object));
  const response = await missing.app.request(url, { method: 'DELETE' });
  assert.deepEqual([response.status, missing.transport.sent.length], [404, 1]);
  assert.deepEqual(await response.bytes(), bytesOf(object));
});

test('when nobody has it any more the answer is the 404 that a server gives', async () => {
  const { app } = await start(() => true);
  const response = await app.request(jobs);
  assert.equal(response.status, 404);
  assert.equal(await response.text(), '404 page not found\n');
});

test('an object that does not exist, and what an application behind proxy says, is passed on as it is', async () => {
  const status = () => Response.json({ kind: 'Status', reason: 'NotFound' }, { status: 404 });
  const named = await start(() => true, status);
  assert.equal((await named.app.request(`${jobs}/one`)).status, 404);
  assert.equal(named.transport.sent.length, 1);
  const behindProxy = await start(() => true);
  assert.equal((await behindProxy.app.request(`${pods}/one/proxy/index.html`)).status, 404);
  assert.equal(behindProxy.transport.sent.length, 1);
});

test('what the one server that is left denies, and a departed one is known to serve, is unavailable, not gone', async () => {
  const departed = { serves: ['batch/v1/jobs'], stale: true, departedAt: '2026-01-31T12:00:00Z' };
  for (const [denying, snapshot] of [
    ['a peer', snapshotOf({ [localId]: ['v1/pods'], b: ['v1/pods', 'batch/v1/jobs'], c: departed })],
    ['the local server', snapshotOf({ [localId]: ['v1/pods', 'batch/v1/jobs'], c: departed })],
  ] as const) {
    for (const method of ['GET', 'DELETE', 'POST']) {
      const transport = recordingTransport(plainNotFound);
      const { app } = await testApp({ snapshot, transport, connection: userConnection('alice', ['dev']) });
      const answer = await app.request(jobs, { method });
      assert.equal(answer.status, 503, `${denying}, ${method}`);
      assert.equal(answer.headers.get('retry-after'), '1', `${denying}, ${method}`);
    }
  }
});

const json = 'application/json';
const protobuf = 'application/vnd.kubernetes.protobuf';
const plain = 'text/plain; charset=utf-8';

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

const field = (tag: string, content: string) => `${tag}${String.fromCharCode(content.length)}${content}`;

/** A NotFound Status as API servers write it (k8s.io/apimachinery pkg/runtime/generated.proto, meta/v1 generated.proto). */
function statusInProtobuf(message: string, details: string): string {
  const status = [
    field('\n', '\n\0\x12\0\x1a\0'),
    field('\x12', 'Failure'),
    field('\x1a', message),
    field('"', 'NotFound'),
    field('*', details),
    '0\x94\x03',
  ].join('');
  return `k8s\0${field('\n', `${field('\n', 'v1')}${field('\x12', 'Status')}`)}${field('\x12', status)}\x1a\0"\0`;
}

const notServedInProtobuf = statusInProtobuf(
  'the server could not find the requested resource',
  '\n\0\x12\0\x1a\0(\x002\x00',
);

/** The judgement on a response to `method path` that has just this content. */
function judged(
  {
    method = 'GET',
    path = '/apis/apps/v1/namespaces/a/deployments/web',
    reason = 'ServedLocally' as DecisionReason,
  },
  status: number,
  contentType: string,
  content: string,
) {
  const request = {
    inbound: { method },
    requestInfo: parseRequestInfo(method, path),
    decision: { decision: 'local', reason, candidates: [] } as const,
  };
  const outbound = { othersMayServe: true };
  const headers = ['content-type', contentType, 'content-length', String(content.length)];
  const length = contentToJudge(request, outbound, { status, headers });
  const read = length === undefined ? undefined : bytesOf(content);
  return { length, reason: refusalIn(request, outbound, { status, headers }, read)?.reason };
}

test('a server’s word that it did nothing is known by its very content', () => {
  const shutting = 'The apiserver is shutting down, please try again later';
  const starting = "The apiserver hasn't been fully initialized";
  for (const [reason, status, type, content] of [
    ['NotServed', 404, plain, '404 page not found\n'],
    ['NotServed', 404, json, notServedStatus],
    ['NotServed', 404, `${json}; charset=utf-8`, notServedStatus],
    ['NotServed', 404, protobuf, notServedInProtobuf],
    ['Unavailable', 503, json, shuttingDownStatus],
    ['Unavailable', 429, plain, `${shutting}.\n`],
    ['Unavailable', 429, plain, `${shutting}\n`],
    ['Unavailable', 429, plain, `${starting}, please try again later\n`],
    ['Unavailable', 429, plain, `${starting} yet, please try again later.\n`],
    ['Unavailable', 503, plain, `${starting} yet, please try again later.\n`],
  ] as const) {
    const length = content.length;
    assert.deepEqual(judged({ method: 'POST' }, status, type, content), { length, reason }, content);
    // Nothing of it is read, and nothing is carried out for it.
    assert.deepEqual(
      judged({ method: 'HEAD' }, status, type, content),
      { length: undefined, reason },
      content,
    );
    const other = `${content.slice(0, -2)}x\n`;
    assert.deepEqual(judged({}, status, type, type === protobuf ? 'x'.repeat(116) : other).reason, undefined);
    assert.deepEqual(judged({}, 200, type, content), { length: undefined, reason: undefined });
    assert.deepEqual(judged({}, status, 'text/html', content), { length: undefined, reason: undefined });
    assert.equal(judged({}, status, type, `${content} `).reason, undefined);
  }
});

test('the Status of an object that does not exist is never taken for it, whatever its length', () => {
  for (const [resource, group] of [
    ['pods', ''],
    ['configmaps', ''],
    ['deployments', 'apps'],
    ['horizontalpodautoscalers', 'autoscaling'],
    ['jobs', 'batch'],
  ] as const) {
    for (let length = 1; length <= 63; length++) {
      const name = 'x'.repeat(length);
      const message = `${resource}${group === '' ? '' : `.${group}`} "${name}" not found`;
      const details = { name, ...(group === '' ? {} : { group }), kind: resource };
      const common = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message };
      const content = `${JSON.stringify({ ...common, reason: 'NotFound', details, code: 404 })}\n`;
      assert.equal(judged({}, 404, json, content).reason, undefined, `${resource} ${length}`);
    }
  }
});

test('what a kubelet or an application says of what it has is left alone; that a server ends counts for exec, too', () => {
  const of = (subresource: string) => ({ path: `/api/v1/namespaces/a/pods/web/${subresource}` });
  for (const subresource of ['log', 'exec', 'attach', 'portforward', 'proxy']) {
    const asked = of(subresource);
    assert.equal(judged(asked, 404, json, notServedStatus).reason, undefined);
    const expected = subresource === 'proxy' ? undefined : 'Unavailable';
    assert.equal(judged(asked, 503, json, shuttingDownStatus).reason, expected, subresource);
  }
  assert.equal(judged(of('eviction'), 404, json, notServedStatus).reason, 'NotServed');
  assert.equal(judged({ reason: 'AlreadyRerouted' }, 503, json, shuttingDownStatus).reason, undefined);
});

/** Paths that one server may know before another does. */
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
async function startWhere(
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
          const { app, transport } = await startWhere((id) => id === 'peer-3', { ...options, answer });
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
      const { app } = await startWhere((id) => id === 'peer-3', { ...options, answer: withoutAWord });
      const path = everybodys['an OpenAPI document that the snapshot does not know yet'];
      assert.equal((await app.request(`https://router.example${path}`)).status, 200);
    }
    const { app, transport } = await startWhere(() => false, { answer: withoutAWord });
    assert.equal((await app.request('https://router.example/version')).status, 404);
    assert.equal(transport.sent.length, 1);
  });

  test('is not believed by a write either, which reaches the other one as it was', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'POST']) {
      const { app, transport } = await startWhere((id) => id !== localId);
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
      const { app, transport } = await startWhere(() => false, { answer });
      const response = await app.request(`https://router.example${everybodys['a custom resource']}`);
      assert.deepEqual([response.status, await response.text()], [404, await answer().text()]);
      assert.equal(transport.sent.length, 4);
    }
  });

  test('is believed for a second after that, so that what exists nowhere does not cost every server each request', async () => {
    let now = 0;
    const { app, transport } = await startWhere(() => false, { monotonicClock: () => now });
    const ask = () => app.request(`https://router.example${everybodys['a custom resource']}`);
    await ask();
    for (let count = 0; count < 10; count++) assert.equal((await ask()).status, 404);
    assert.equal(transport.sent.length, 4 + 10);
    now = 1_000;
    await ask();
    assert.equal(transport.sent.length, 4 + 10 + 4);
  });

  test('is believed where it is the only one, and where the others are down', async () => {
    const alone = await startWhere(() => false, { snapshot: snapshotOf({ [localId]: ['v1/pods'] }) });
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
    const { app, transport } = await startWhere((id) => id !== localId);
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
    const { app, transport } = await startWhere(() => false, {
      answer: () => Response.json(status, { status: 404 }),
    });
    const response = await app.request(`https://router.example${everybodys['a custom resource']}/w1`);
    assert.deepEqual(await response.json(), status);
    assert.equal(transport.sent.length, 1);
  });

  test('is believed of what is one server’s own', async () => {
    for (const path of ['/metrics/slis', '/logs/kube-apiserver.log', '/debug/pprof/']) {
      for (const options of [{}, gateway]) {
        const { app, transport } = await startWhere(() => false, options);
        assert.equal((await app.request(`https://router.example${path}`)).status, 404);
        assert.equal(transport.sent.length, 1, path);
      }
    }
  });

  test('is believed of discovery that the snapshot knows of others', async () => {
    const { app, transport } = await startWhere((id) => id !== localId, { snapshot: batchOfPeer });
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
  const asked = (method: string, path: string, table?: RoutingTable) => ({
    requestInfo: parseRequestInfo(method, path),
    view: { snapshot: table, known: table, local: undefined },
  });
  const widgets = '/apis/example.com/v1/namespaces/default/widgets/one';
  const nowhere = () => new ServedNowhere(() => 0);

  test('is remembered by group, version, resource and subresource', () => {
    const denied = nowhere();
    denied.add(asked('GET', widgets));
    assert.ok(denied.has(asked('POST', '/apis/example.com/v1/namespaces/other/widgets')));
    for (const path of [
      '/apis/example.com/v1/gadgets',
      '/apis/example.com/v1/namespaces/a/widgets/b/status',
    ]) {
      assert.ok(!denied.has(asked('GET', path)), path);
    }
  });

  test('is forgotten with another snapshot, which may know it', () => {
    const denied = nowhere();
    const before = buildRoutingTable(batchOfPeer);
    denied.add(asked('GET', widgets, before));
    assert.ok(denied.has(asked('GET', widgets, before)));
    const after = buildRoutingTable({ ...batchOfPeer });
    assert.ok(!denied.has(asked('GET', widgets, after)));
  });

  test('is bounded: the oldest is forgotten', () => {
    const denied = nowhere();
    denied.add(asked('GET', widgets));
    for (let index = 0; index < 1_000; index++) {
      denied.add(asked('GET', `/apis/example.com/v1/things${index}`));
    }
    assert.ok(!denied.has(asked('GET', widgets)));
  });
});
