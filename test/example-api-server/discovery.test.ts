import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExampleStore } from '../../demo/example-api-server/index.ts';
import { type JsonObject, objectAt } from '../../demo/example-api-server/kubernetes-object.ts';
import { clientOf, createPki, startServer } from './support.ts';

const aggregated = (version: string): string =>
  `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;

function groupVersions(list: JsonObject): string[] {
  const groups = list['groups'];
  assert.ok(Array.isArray(groups));
  return groups.flatMap((group: { versions: { groupVersion: string }[] }) =>
    group.versions.map(({ groupVersion }) => groupVersion),
  );
}

describe('discovery in a cluster of two versions', async () => {
  const pki = await createPki();
  const store = new ExampleStore();
  const older = await startServer(pki, '1.25', { store });
  const newer = await startServer(pki, '1.36', { store });
  const askOlder = clientOf(older, pki, pki.admin);
  const askNewer = clientOf(newer, pki, pki.admin);

  it('lists in the classic /apis of every server what all of them serve', async () => {
    const fromOlder = await askOlder('/apis');
    const fromNewer = await askNewer('/apis');
    assert.deepEqual(fromOlder.json(), fromNewer.json());
    const listed = groupVersions(fromOlder.json());
    assert.ok(listed.includes('autoscaling/v2beta2'));
    assert.ok(listed.includes('resource.k8s.io/v1'));
    assert.equal(listed[0], 'apiregistration.k8s.io/v1');
    const flowControl = listed.filter((groupVersion) => groupVersion.startsWith('flowcontrol'));
    assert.deepEqual(
      flowControl,
      ['v1', 'v1beta2', 'v1beta1'].map((version) => `flowcontrol.apiserver.k8s.io/${version}`),
    );
  });

  it('answers 404 text for the group versions and resources that only the other server has', async () => {
    for (const [ask, path] of [
      [askOlder, '/apis/resource.k8s.io/v1'],
      [askOlder, '/apis/resource.k8s.io/v1/resourceslices'],
      [askNewer, '/apis/autoscaling/v2beta2'],
      [askNewer, '/apis/autoscaling/v2beta2/namespaces/default/horizontalpodautoscalers/x'],
      [askOlder, '/api/v1/namespaces/default/pods/x/resize'],
      [askOlder, '/apis/nosuch.example.com'],
    ] as const) {
      const answer = await ask(path);
      assert.equal(answer.code, 404, path);
      assert.equal(answer.text, '404 page not found\n');
      assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
    }
  });

  it('describes one group, with the versions of the whole cluster', async () => {
    const answer = await askOlder('/apis/autoscaling');
    assert.deepEqual(answer.json(), {
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'autoscaling',
      versions: ['v2', 'v1', 'v2beta2'].map((version) => ({
        groupVersion: `autoscaling/${version}`,
        version,
      })),
      preferredVersion: { groupVersion: 'autoscaling/v2', version: 'v2' },
    });
  });

  it('aggregates only what the server itself serves', async () => {
    const answer = await askNewer('/apis', { headers: { accept: aggregated('v2') } });
    assert.equal(answer.code, 200);
    assert.equal(answer.headers['content-type'], aggregated('v2'));
    assert.equal(answer.headers['vary'], 'Accept');
    assert.match(answer.text, /"resource\.k8s\.io"/);
    assert.doesNotMatch(answer.text, /v2beta2/);
  });

  it('answers 304 to the ETag of the document it has, and 200 after a change', async () => {
    const accept = aggregated('v2');
    const etag = String((await askNewer('/apis', { headers: { accept } })).headers['etag']);
    assert.match(etag, /^"[0-9A-F]{128}"$/);
    const again = await askNewer('/apis', { headers: { accept, 'if-none-match': etag } });
    assert.equal(again.code, 304);
    assert.equal(again.text, '');
    newer.setGroupVersion('batch/v1', false);
    const changed = await askNewer('/apis', { headers: { accept, 'if-none-match': etag } });
    assert.equal(changed.code, 200);
    newer.setGroupVersion('batch/v1', true);
  });

  it('answers in the first form that the client would take and the version knows', async () => {
    const both = `${aggregated('v2')},${aggregated('v2beta1')},application/json`;
    const old = await askOlder('/apis', { headers: { accept: both } });
    assert.equal(old.json()['kind'], 'APIGroupList');
    const beta = await askNewer('/apis', {
      headers: { accept: `${aggregated('v2beta1')},application/json` },
    });
    assert.equal(beta.json()['kind'], 'APIGroupList');
  });

  it('answers 406 when the client takes only a form the version does not know', async () => {
    for (const [ask, version] of [
      [askOlder, 'v2'],
      [askNewer, 'v2beta1'],
    ] as const) {
      const answer = await ask('/apis', { headers: { accept: aggregated(version) } });
      assert.equal(answer.code, 406);
      assert.equal(answer.json()['reason'], 'NotAcceptable');
    }
  });

  it('follows a group version that is turned off and on again', async () => {
    newer.setGroupVersion('batch/v1', false);
    assert.equal((await askNewer('/apis/batch/v1')).code, 404);
    assert.equal((await askNewer('/apis/batch/v1/jobs')).code, 404);
    assert.ok(groupVersions((await askNewer('/apis')).json()).includes('batch/v1'));
    newer.setGroupVersion('batch/v1', true);
    assert.equal((await askNewer('/apis/batch/v1/jobs')).code, 200);
    assert.throws(() => newer.setGroupVersion('batch/v9', false), /batch\/v9 is not in the table/);
  });

  it('tells its version and its health', async () => {
    assert.equal((await askOlder('/version')).json()['gitVersion'], 'v1.25.0');
    for (const path of ['/livez', '/readyz', '/healthz']) assert.equal((await askOlder(path)).text, 'ok');
  });
});

describe('the identity Lease of a server', async () => {
  const pki = await createPki();
  const store = new ExampleStore();
  const older = await startServer(pki, '1.26', {
    store,
    hostname: 'cp-b',
    advertiseAddress: '10.0.0.2:6443',
  });
  const newer = await startServer(pki, '1.36', { store, hostname: 'cp-c' });
  const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
  const ask = clientOf(newer, pki, pki.admin);

  it('names the server, its host and its address, under the label of its version', async () => {
    const lease = (await ask(`${path}/${older.serverId}`)).json();
    assert.deepEqual(objectAt(lease, 'metadata', 'labels'), {
      'k8s.io/component': 'kube-apiserver',
      'kubernetes.io/hostname': 'cp-b',
    });
    assert.deepEqual(objectAt(lease, 'metadata', 'annotations'), {
      'kubernetes.io/peer-advertise-address': '10.0.0.2:6443',
    });
    assert.match(String(objectAt(lease, 'spec')['holderIdentity']), new RegExp(`^${older.serverId}_`));
    const other = (await ask(`${path}/${newer.serverId}`)).json();
    assert.equal(objectAt(other, 'metadata', 'labels')['apiserver.kubernetes.io/identity'], 'kube-apiserver');
    assert.match(
      String(objectAt(other, 'metadata', 'annotations')['kubernetes.io/peer-advertise-address']),
      /^127/,
    );
  });

  it('goes when the server stops, while the APIServices stay', async () => {
    await older.close();
    assert.equal((await ask(`${path}/${older.serverId}`)).code, 404);
    const services = '/apis/apiregistration.k8s.io/v1/apiservices';
    assert.equal((await ask(`${services}/v1alpha1.authentication.k8s.io`)).code, 200);
  });
});
