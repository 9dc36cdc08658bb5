import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExampleStore } from '../../demo/example-api-server/index.ts';
import { objectAt } from '../../demo/example-api-server/kubernetes-object.ts';
import { clientOf, createPki, startServer, type TestRequest } from './support.ts';

const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const ask: TestRequest = {
  method: 'POST',
  body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} },
};

/** The byte string that a header carries UTF-8 as. */
const bytesOf = (text: string): string => Buffer.from(text).toString('latin1');

describe('who arrives at an example API server', async () => {
  const pki = await createPki();
  const bob = { name: 'bob', uid: '7', groups: ['dev'], extra: {} };
  const store = new ExampleStore();
  const server = await startServer(pki, '1.36', { store, tokens: new Map([['secret', bob]]) });
  const anonymous = clientOf(server, pki);
  const admin = clientOf(server, pki, pki.admin);
  const frontProxy = clientOf(server, pki, pki.frontProxy);
  const whoAmI = async (client = anonymous, headers: TestRequest['headers'] = {}) => {
    const answer = await client(review, { ...ask, headers });
    assert.equal(answer.code, 201, answer.text);
    return objectAt(answer.json(), 'status', 'userInfo');
  };

  it('is the user of a client certificate: CN the name, O the groups', async () => {
    assert.deepEqual(await whoAmI(admin), {
      username: 'alice',
      groups: ['system:masters', 'system:authenticated'],
    });
  });

  it('is the user of a certificate under an intermediate authority', async () => {
    const team = await pki.clients.createIntermediate('team');
    const dora = await team.issue({ commonName: 'dora', usage: 'client' });
    const user = await whoAmI(clientOf(server, pki, dora));
    assert.equal(user['username'], 'dora');
  });

  it('is the user a front proxy vouches for, with every line of group and extra kept apart', async () => {
    const user = await whoAmI(frontProxy, {
      'X-Remote-User': bytesOf('zoë'),
      'X-Remote-Uid': '42',
      'X-Remote-Group': ['a,b', 'c'],
      'X-Remote-Extra-Example.com%2Fscope': ['one, two', 'three'],
    });
    assert.deepEqual(user, {
      username: 'zoë',
      uid: '42',
      groups: ['a,b', 'c', 'system:authenticated'],
      extra: { 'example.com/scope': ['one, two', 'three'] },
    });
  });

  it('is the user of a bearer token', async () => {
    const user = await whoAmI(anonymous, { authorization: 'Bearer secret' });
    assert.deepEqual(user, { username: 'bob', uid: '7', groups: ['dev', 'system:authenticated'] });
  });

  it('is not who X-Remote headers name when no front proxy sends them', async () => {
    const forged = { 'X-Remote-User': 'root', 'X-Remote-Group': 'system:masters' };
    const asAdmin = await whoAmI(admin, forged);
    assert.equal(asAdmin['username'], 'alice');
    const asAnonymous = await anonymous(review, { ...ask, headers: forged });
    assert.equal(asAnonymous.code, 403);
  });

  it('is nobody when a front proxy has a name that is not allowed', async () => {
    const other = await pki.frontProxies.issue({ commonName: 'other-proxy', usage: 'client' });
    const answer = await clientOf(
      server,
      pki,
      other,
    )(review, { ...ask, headers: { 'X-Remote-User': 'root' } });
    assert.equal(answer.code, 401);
    assert.equal(answer.json()['message'], 'Unauthorized');
  });

  it('is nobody when a front proxy names no one, or a token or a certificate is not known', async () => {
    const stranger = await pki.serving.issue({ commonName: 'eve', usage: 'client' });
    assert.equal((await frontProxy(review, ask)).code, 401);
    assert.equal((await anonymous('/version', { headers: { authorization: 'Bearer wrong' } })).code, 401);
    assert.equal((await clientOf(server, pki, stranger)('/version')).code, 401);
  });

  it('may impersonate as an administrator only', async () => {
    const headers = { 'Impersonate-User': 'carl', 'Impersonate-Group': ['x', 'y'] };
    assert.deepEqual(await whoAmI(admin, headers), {
      username: 'carl',
      groups: ['x', 'y', 'system:authenticated'],
    });
    const refused = await anonymous(review, {
      ...ask,
      headers: { ...headers, authorization: 'Bearer secret' },
    });
    assert.equal(refused.code, 403);
    assert.match(
      String(refused.json()['message']),
      /^users "carl" is forbidden: User "bob" cannot impersonate/,
    );
    const nobody = await admin(review, { ...ask, headers: { 'Impersonate-Group': 'x' } });
    assert.equal(nobody.code, 400);
  });

  it('may read health and discovery as anonymous, and nothing else', async () => {
    for (const path of ['/livez', '/readyz', '/version', '/api', '/apis', '/apis/apps/v1', '/openapi/v3']) {
      assert.equal((await anonymous(path)).code, 200, path);
    }
    const cases = [
      ['/metrics', 'forbidden: User "system:anonymous" cannot get path "/metrics"'],
      [
        '/api/v1/namespaces/default/pods',
        'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" in the namespace "default"',
      ],
      [
        '/apis/apps/v1/namespaces/default/deployments/web/scale',
        'deployments.apps "web" is forbidden: User "system:anonymous" cannot get resource "deployments/scale" in API group "apps" in the namespace "default"',
      ],
      [
        '/api/v1/nodes?watch=1',
        'nodes is forbidden: User "system:anonymous" cannot watch resource "nodes" in API group "" at the cluster scope',
      ],
    ] as const;
    for (const [path, message] of cases) {
      const answer = await anonymous(path);
      assert.equal(answer.code, 403);
      assert.equal(answer.json()['message'], message);
      assert.equal(answer.json()['reason'], 'Forbidden');
      assert.equal(answer.headers['x-content-type-options'], 'nosniff');
    }
  });

  it('is told to whoever follows the requests', async () => {
    server.records.length = 0;
    const path = '/api/v1/namespaces/default/configmaps?b=2&a=%2F;x';
    await admin(path, { method: 'POST', body: '{', headers: { 'X-Some': 'Thing' } });
    const [record] = server.records;
    assert.equal(record?.url, path);
    assert.equal(record?.method, 'POST');
    assert.equal(record?.user?.name, 'alice');
    assert.equal(record?.clientCertificateCommonName, 'alice');
    assert.equal(Buffer.from(record?.body ?? []).toString(), '{');
    assert.equal(record?.rawHeaders[record.rawHeaders.indexOf('X-Some') + 1], 'Thing');
  });
});
