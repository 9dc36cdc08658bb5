import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { apiServerId, ExampleStore } from '../../scripts/example-api-server/index.ts';
import { arrayAt, numberAt, objectAt, textAt } from '../../scripts/example-api-server/kubernetes-object.ts';
import { clientOf, configMap, createPki, http2ClientOf, startServer, type TestAnswer } from './support.ts';

const pki = createPki();
const store = new ExampleStore();
const older = await startServer(pki, '1.25', { store });
const newer = await startServer(pki, '1.36', { store });
const ask = clientOf(newer, pki, pki.admin);
const askOlder = clientOf(older, pki, pki.admin);
const configMaps = '/api/v1/namespaces/default/configmaps';
const post = (path: string, body: Parameters<typeof ask>[1] & object) =>
  ask(path, { method: 'POST', ...body });
const create = (name: string, data = {}) => post(configMaps, { body: configMap(name, data) });

/** Code, reason and message of a failure, in one line. */
function failure(answer: TestAnswer): string {
  const status = answer.json();
  assert.equal(status['kind'], 'Status');
  assert.equal(status['status'], 'Failure');
  assert.equal(status['code'], answer.code);
  return `${answer.code} ${status['reason']} ${status['message']}`;
}

const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: 'web' } },
  spec: { containers: [{ name: 'main', image: 'nginx' }] },
});

describe('stored objects', () => {
  it('are made by one server and read through another', async () => {
    const created = await create('shared', { a: '1' });
    assert.equal(created.code, 201);
    const read = await askOlder(`${configMaps}/shared`);
    assert.deepEqual(read.json(), created.json());
    assert.deepEqual(objectAt(read.json(), 'data'), { a: '1' });
    assert.match(textAt(read.json(), 'metadata', 'creationTimestamp'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  it('are one, whichever version of their group they are asked for in', async () => {
    const path = (version: string) =>
      `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;
    const body = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', metadata: { name: 'h' } };
    assert.equal((await post(path('v2'), { body })).code, 201);
    const read = await askOlder(`${path('v2beta2')}/h`);
    assert.equal(read.json()['apiVersion'], 'autoscaling/v2beta2');
    await post('/api/v1/namespaces/default/events', { body: { metadata: { name: 'e' } } });
    const event = await ask('/apis/events.k8s.io/v1/namespaces/default/events/e');
    assert.equal(event.json()['apiVersion'], 'events.k8s.io/v1');
  });

  it('get a name when they come with a beginning of one', async () => {
    const answer = await post(configMaps, { body: { metadata: { generateName: 'made-' } } });
    assert.match(textAt(answer.json(), 'metadata', 'name'), /^made-[b-z2-9]{5}$/);
  });

  it('are replaced only from the state they are in', async () => {
    const first = (await create('replaced')).json();
    const changed = { ...first, data: { n: '1' } };
    assert.equal((await ask(`${configMaps}/replaced`, { method: 'PUT', body: changed })).code, 200);
    const stale = await ask(`${configMaps}/replaced`, {
      method: 'PUT',
      body: { ...first, data: { n: '2' } },
    });
    assert.equal(
      failure(stale),
      '409 Conflict Operation cannot be fulfilled on configmaps "replaced": the object has been modified; please apply your changes to the latest version and try again',
    );
  });

  it('keep spec and status apart, and count changes of the spec', async () => {
    const path = '/apis/apps/v1/namespaces/default/deployments';
    const body = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { replicas: 1, selector: { matchLabels: { app: 'web' } } },
      status: { readyReplicas: 9 },
    };
    const created = (await post(path, { body })).json();
    assert.deepEqual(objectAt(created, 'status'), {});
    const patch = (subresource: string, change: object) =>
      ask(`${path}/web${subresource}`, {
        method: 'PATCH',
        body: JSON.stringify(change),
        contentType: 'application/merge-patch+json',
      });
    const change = { spec: { replicas: 3 }, status: { readyReplicas: 2 } };
    const throughStatus = (await patch('/status', change)).json();
    assert.equal(numberAt(throughStatus, 'spec', 'replicas'), 1);
    assert.equal(numberAt(throughStatus, 'status', 'readyReplicas'), 2);
    assert.equal(numberAt(throughStatus, 'metadata', 'generation'), 1);
    const throughMain = (await patch('', { ...change, status: { readyReplicas: 7 } })).json();
    assert.equal(numberAt(throughMain, 'spec', 'replicas'), 3);
    assert.equal(numberAt(throughMain, 'status', 'readyReplicas'), 2);
    assert.equal(numberAt(throughMain, 'metadata', 'generation'), 2);
    const scaled = (await patch('/scale', { spec: { replicas: 5 } })).json();
    assert.equal(scaled['kind'], 'Scale');
    assert.equal(textAt(scaled, 'status', 'selector'), 'app=web');
    assert.equal(numberAt((await ask(`${path}/web`)).json(), 'spec', 'replicas'), 5);
  });

  it('go with a Status, pods as themselves, and stay while a finalizer holds them', async () => {
    await create('gone');
    const gone = await ask(`${configMaps}/gone`, { method: 'DELETE' });
    assert.equal(gone.json()['status'], 'Success');
    assert.equal(objectAt(gone.json(), 'details')['name'], 'gone');
    await post('/api/v1/namespaces/default/pods', { body: pod('leaving') });
    const left = await ask('/api/v1/namespaces/default/pods/leaving', { method: 'DELETE' });
    assert.equal(left.json()['kind'], 'Pod');

    const held = { ...configMap('held'), metadata: { name: 'held', finalizers: ['example.com/wait'] } };
    await post(configMaps, { body: held });
    await ask(`${configMaps}/held`, { method: 'DELETE' });
    const waiting = (await ask(`${configMaps}/held`)).json();
    assert.notEqual(textAt(waiting, 'metadata', 'deletionTimestamp'), '');
    await ask(`${configMaps}/held`, {
      method: 'PATCH',
      body: { metadata: { finalizers: null } },
      contentType: 'application/merge-patch+json',
    });
    assert.equal((await ask(`${configMaps}/held`)).code, 404);
  });

  it('are not stored by a dry run', async () => {
    const dryRun = await post(`${configMaps}?dryRun=All`, { body: configMap('dry') });
    assert.equal(dryRun.code, 201);
    assert.notEqual(textAt(dryRun.json(), 'metadata', 'uid'), '');
    assert.equal((await ask(`${configMaps}/dry`)).code, 404);
    await create('wet');
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] };
    assert.equal((await ask(`${configMaps}/wet`, { method: 'DELETE', body })).code, 200);
    assert.equal((await ask(`${configMaps}/wet`)).code, 200);
    assert.match(
      failure(await post(`${configMaps}?dryRun=Some`, { body: configMap('dry') })),
      /^422 Invalid .*dryRun/,
    );
  });

  it('go with their namespace', async () => {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'short-lived' } };
    await post('/api/v1/namespaces', { body });
    const inside = '/api/v1/namespaces/short-lived/configmaps';
    assert.equal((await post(inside, { body: configMap('x') })).code, 201);
    assert.equal(
      (await ask('/api/v1/namespaces/short-lived', { method: 'DELETE' })).json()['kind'],
      'Namespace',
    );
    assert.equal((await ask(`${inside}/x`)).code, 404);
    assert.equal(
      failure(await ask('/api/v1/namespaces/default', { method: 'DELETE' })),
      '403 Forbidden namespaces "default" is forbidden: this namespace may not be deleted',
    );
  });

  it('are removed together by selector', async () => {
    for (const name of ['one', 'two']) {
      const body = { ...configMap(name), metadata: { name, labels: { batch: 'b1' } } };
      await post(configMaps, { body });
    }
    const removed = await ask(`${configMaps}?labelSelector=batch%3Db1`, { method: 'DELETE' });
    assert.equal(arrayAt(removed.json(), 'items').length, 2);
    assert.equal((await ask(`${configMaps}/one`)).code, 404);
    assert.equal((await ask(`${configMaps}/shared`)).code, 200);
  });
});

describe('failures are worded as Kubernetes words them', () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const cases: readonly (readonly [what: string, path: string, request: object, wanted: string | RegExp])[] =
    [
      [
        'an object that is not there',
        `${configMaps}/nosuch`,
        {},
        '404 NotFound configmaps "nosuch" not found',
      ],
      ['one in a group', `${deployments}/nosuch`, {}, '404 NotFound deployments.apps "nosuch" not found'],
      [
        'an object in a namespace that is not there',
        '/api/v1/namespaces/nowhere/configmaps',
        { method: 'POST', body: configMap('x') },
        '404 NotFound namespaces "nowhere" not found',
      ],
      [
        'a second object of the same name',
        '/api/v1/namespaces',
        { method: 'POST', body: { metadata: { name: 'default' } } },
        '409 AlreadyExists namespaces "default" already exists',
      ],
      [
        'no name',
        configMaps,
        { method: 'POST', body: {} },
        '422 Invalid ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
      ],
      [
        'a name that is none',
        deployments,
        { method: 'POST', body: { metadata: { name: 'Web_1' } } },
        /^422 Invalid Deployment\.apps "Web_1" is invalid: metadata\.name: Invalid value: "Web_1": a lowercase RFC 1123/,
      ],
      [
        'a method that the resource does not have',
        `${configMaps}/x`,
        { method: 'POST', body: {} },
        '405 MethodNotAllowed the server does not allow this method on the requested resource',
      ],
      [
        'creating in all namespaces at once',
        '/api/v1/configmaps',
        { method: 'POST', body: configMap('x') },
        '405 MethodNotAllowed the server does not allow this method on the requested resource',
      ],
      ['a body that is no JSON', configMaps, { method: 'POST', body: '{"a"' }, /^400 BadRequest /],
      ['a body that is no object', configMaps, { method: 'POST', body: '[1]' }, /^400 BadRequest /],
      [
        'a body in an unknown form',
        configMaps,
        { method: 'POST', body: '<a/>', contentType: 'text/xml' },
        /^415 UnsupportedMediaType the body of the request was in an unknown format \(text\/xml\)/,
      ],
      [
        'another kind than that of the URL',
        configMaps,
        { method: 'POST', body: pod('x') },
        /^400 BadRequest Pod in version "v1" cannot be handled as a ConfigMap/,
      ],
      [
        'another name than that of the URL',
        `${configMaps}/shared`,
        { method: 'PUT', body: configMap('other') },
        '400 BadRequest the name of the object (other) does not match the name on the URL (shared)',
      ],
      [
        'another namespace than that of the URL',
        configMaps,
        { method: 'POST', body: { metadata: { name: 'x', namespace: 'kube-system' } } },
        '400 BadRequest the namespace of the provided object does not match the namespace sent on the request',
      ],
      [
        'a patch of an unknown form',
        `${configMaps}/shared`,
        { method: 'PATCH', body: '{}', contentType: 'application/json' },
        /^415 UnsupportedMediaType .*strategic-merge-patch/,
      ],
      [
        'an apply without a manager',
        `${configMaps}/shared`,
        { method: 'PATCH', body: '{}', contentType: 'application/apply-patch+yaml' },
        /^422 Invalid PatchOptions\.meta\.k8s\.io "" is invalid: fieldManager: Required value/,
      ],
      [
        'a form that nobody offers',
        configMaps,
        { headers: { accept: 'text/html' } },
        /^406 NotAcceptable only the/,
      ],
      ['a broken percent sign', '/api/v1/namespaces/default/configmaps/%zz', {}, /^400 BadRequest /],
    ];
  for (const [what, path, request, wanted] of cases) {
    it(what, async () => {
      const said = failure(await ask(path, request));
      if (typeof wanted === 'string') assert.equal(said, wanted);
      else assert.match(said, wanted);
    });
  }

  it('a body that is too large', async () => {
    const answer = await post(configMaps, { body: `"${'x'.repeat(3 * 1024 * 1024)}"` });
    assert.equal(failure(answer), '413 RequestEntityTooLarge Request entity too large: limit is 3145728');
  });

  it('the details name what was asked for', async () => {
    const answer = await ask(`${deployments}/nosuch`);
    assert.deepEqual(answer.json()['details'], { name: 'nosuch', group: 'apps', kind: 'deployments' });
  });
});

describe('lists', () => {
  const secrets = '/api/v1/namespaces/kube-public/secrets';
  const names = (answer: TestAnswer) =>
    arrayAt(answer.json(), 'items').map((item) => textAt(item, 'metadata', 'name'));

  it('come in pages', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await post(secrets, { body: { metadata: { name } } });
    const first = await ask(`${secrets}?limit=2`);
    assert.deepEqual(names(first), ['a', 'b']);
    assert.equal(numberAt(first.json(), 'metadata', 'remainingItemCount'), 3);
    const token = textAt(first.json(), 'metadata', 'continue');
    const second = await ask(`${secrets}?limit=3&continue=${token}`);
    assert.deepEqual(names(second), ['c', 'd', 'e']);
    assert.equal(textAt(second.json(), 'metadata', 'continue'), '');
    assert.match(failure(await ask(`${secrets}?continue=x`)), /^400 BadRequest continue key is not valid/);
    store.compact();
    await post(secrets, { body: { metadata: { name: 'f' } } });
    assert.match(failure(await ask(`${secrets}?limit=2&continue=${token}`)), /^410 Expired /);
  });

  it('hold what the selectors match', async () => {
    assert.deepEqual(names(await ask(`${secrets}?fieldSelector=metadata.name%3Db`)), ['b']);
    assert.deepEqual(names(await ask(`${secrets}?labelSelector=x`)), []);
    assert.match(failure(await ask(`${secrets}?fieldSelector=data%3Db`)), /field label not supported: data/);
  });

  it('are Tables for those who want them', async () => {
    await post('/api/v1/namespaces/default/pods', { body: pod('shown') });
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    const table = (await ask('/api/v1/namespaces/default/pods', { headers: { accept } })).json();
    assert.equal(table['kind'], 'Table');
    assert.deepEqual(
      arrayAt(table, 'columnDefinitions').map((column) => textAt(column, 'name')),
      ['Name', 'Ready', 'Status', 'Restarts', 'IP', 'Node', 'Age'],
    );
    const [row] = arrayAt(table, 'rows');
    assert.deepEqual(arrayAt(row, 'cells').slice(0, 4), ['shown', '1/1', 'Running', 0]);
    assert.equal(objectAt(row, 'object')['kind'], 'PartialObjectMetadata');
    const whole = await ask('/api/v1/namespaces/default/pods/shown?includeObject=Object', {
      headers: { accept },
    });
    assert.equal(objectAt(arrayAt(whole.json(), 'rows')[0], 'object')['kind'], 'Pod');
  });

  it('are metadata alone for those who want that', async () => {
    const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
    const list = (await ask(secrets, { headers: { accept } })).json();
    assert.equal(list['kind'], 'PartialObjectMetadataList');
    assert.equal(objectAt(arrayAt(list, 'items')[0])['type'], undefined);
  });

  it('are compressed when they are big and the client takes gzip', async () => {
    await create('big', { text: 'x'.repeat(200_000) });
    const session = http2ClientOf(newer, pki, pki.admin);
    const request = session.request({ ':path': `${configMaps}/big`, 'accept-encoding': 'gzip' });
    const headers = new Promise<Record<string, unknown>>((resolve) => request.on('response', resolve));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    assert.equal((await headers)['content-encoding'], 'gzip');
    assert.equal(
      textAt(JSON.parse(gunzipSync(Buffer.concat(chunks)).toString()), 'data', 'text').length,
      200_000,
    );
  });
});

describe('what is asked, not stored', () => {
  it('SelfSubjectAccessReview allows whoever is authenticated', async () => {
    const body = { spec: { resourceAttributes: { verb: 'list', resource: 'pods' } } };
    const answer = await post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { body });
    assert.deepEqual(answer.json()['status'], { allowed: true });
  });

  it('an eviction removes the pod, a binding gives it a node', async () => {
    const path = '/api/v1/namespaces/default/pods/moved';
    await post('/api/v1/namespaces/default/pods', { body: pod('moved') });
    const target = { kind: 'Node', name: 'node-7' };
    assert.equal((await post(`${path}/binding`, { body: { ...binding, target } })).code, 201);
    assert.equal(textAt((await ask(path)).json(), 'spec', 'nodeName'), 'node-7');
    assert.equal((await post(`${path}/eviction`, { body: { metadata: { name: 'moved' } } })).code, 201);
    assert.equal((await ask(path)).code, 404);
  });
  const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'moved' } };

  it('the ID of a server is made as Kubernetes makes it', () => {
    // sha256(0x0004 "cp-b" 0x000e "kube-apiserver"), first 16 bytes in base32.
    assert.equal(apiServerId('cp-b'), 'apiserver-imkgstwjs6opnbwk2ixluu6fiq');
  });
});
