import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { apiServerId, ExampleStore } from '../../demo/example-api-server/index.ts';
import { arrayAt, numberAt, objectAt, textAt } from '../../demo/example-api-server/kubernetes-object.ts';
import { clientOf, configMap, createPki, failure, pod, startServer, type TestRequest } from './support.ts';

const pki = await createPki();
const store = new ExampleStore();
const older = await startServer(pki, '1.25', { store });
const newer = await startServer(pki, '1.36', { store });
const ask = clientOf(newer, pki, pki.admin);
const askOlder = clientOf(older, pki, pki.admin);
const configMaps = '/api/v1/namespaces/default/configmaps';
const post = (path: string, request: TestRequest) => ask(path, { ...request, method: 'POST' });
const create = (name: string, data = {}) => post(configMaps, { body: configMap(name, data) });

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

  it('lose a field that a server does not know when they are written through it, as in Kubernetes', async () => {
    const kind = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' };
    const field = 'unhealthyPodEvictionPolicy';
    const unaware = await startServer(pki, '1.25', {
      store,
      unknownFields: { 'policy/v1/PodDisruptionBudget': [field] },
    });
    const askUnaware = clientOf(unaware, pki, pki.admin);
    const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
    const body = { ...kind, metadata: { name: 'kept' }, spec: { minAvailable: 1, [field]: 'AlwaysAllow' } };
    assert.equal((await post(budgets, { body })).code, 201);
    const specSeenBy = async (asking: typeof ask) => {
      const one = objectAt((await asking(`${budgets}/kept`)).json(), 'spec');
      const [listed] = arrayAt((await asking(budgets)).json(), 'items');
      assert.deepEqual(objectAt(listed, 'spec'), one);
      return one;
    };
    assert.deepEqual(await specSeenBy(askUnaware), { minAvailable: 1 });
    assert.deepEqual(await specSeenBy(ask), body.spec);
    const labelled = await askUnaware(`${budgets}/kept`, {
      method: 'PATCH',
      contentType: 'application/merge-patch+json',
      body: { metadata: { labels: { a: 'b' } } },
    });
    assert.equal(labelled.code, 200);
    assert.deepEqual(await specSeenBy(ask), { minAvailable: 1 });
    const created = await askUnaware(`${budgets}?fieldValidation=Strict`, {
      method: 'POST',
      body: { ...body, metadata: { name: 'refused' } },
    });
    assert.equal(created.code, 400);
    assert.match(textAt(created.json(), 'message'), /unknown field "spec\.unhealthyPodEvictionPolicy"/);
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
