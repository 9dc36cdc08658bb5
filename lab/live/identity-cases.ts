import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  credentialsOf,
  postObject,
  type TlsAnswer,
  type TlsCredentials,
  tlsRequest,
} from '../../test/support/clients/tls-request.ts';
import { type GetSuite, kubectls, type LiveSuite, namespace } from './live-suite.ts';
import { collectionPath } from './loops/exclusive-resources.ts';

const reviewPath = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };

const origins = ({ cluster }: LiveSuite) =>
  [...cluster.sidecars, cluster.gateway].map(({ origin }) => origin);
const ask = (
  url: string,
  credentials: TlsCredentials,
  headers: Record<string, string> = {},
): Promise<TlsAnswer> => postObject(`${url}${reviewPath}`, review, credentials, { headers });
async function whoIs(
  url: string,
  credentials: TlsCredentials,
  headers: Record<string, string> = {},
): Promise<{ username: string; groups: readonly string[] }> {
  const { statusCode, text } = await ask(url, credentials, headers);
  assert.equal(statusCode, 201, text);
  return JSON.parse(text).status.userInfo;
}
const nobody = ({ cluster }: LiveSuite) => credentialsOf(cluster.certificates.clusterCa);
const alice = ({ cluster }: LiveSuite) =>
  credentialsOf(cluster.certificates.clusterCa, cluster.certificates.alice);

/** A user who arrives at a router arrives at the API server, and nobody else does. */
export function registerIdentityCases(suite: GetSuite): void {
  const [kubectl] = kubectls;
  if (kubectl === undefined) return;

  test('a client certificate: user and groups arrive, also where only another server has the review', async () => {
    for (const origin of origins(suite())) {
      const { username, groups } = await whoIs(origin, alice(suite()));
      assert.deepEqual([username, groups], ['alice', ['dev', 'qa', 'system:authenticated']]);
    }
  });

  test('a service account token: the API server that answers verifies it, and RBAC counts there', async () => {
    const { ok, cluster, newer } = suite();
    await ok(kubectl, 'router-a', ['-n', namespace, 'create', 'serviceaccount', 'robot']);
    const token = (await ok(kubectl, 'router-a', ['-n', namespace, 'create', 'token', 'robot'])).trim();
    const user = `system:serviceaccount:${namespace}:robot`;
    const headers = { authorization: `Bearer ${token}` };
    for (const origin of origins(suite())) {
      assert.equal((await whoIs(origin, nobody(suite()), headers)).username, user);
    }
    const url = `${cluster.sidecars[0].origin}${collectionPath(newer)}`;
    const refused = await tlsRequest(url, nobody(suite()), { headers });
    assert.equal(refused.statusCode, 403);
    assert.match(refused.text, new RegExp(user));
    const [group = ''] = newer.apiVersion.split('/');
    const role = ['--verb=list', `--resource=${newer.resource}.${group}`];
    await ok(kubectl, 'router-a', ['create', 'clusterrole', 'live-reader', ...role]);
    const binding = ['--clusterrole=live-reader', `--serviceaccount=${namespace}:robot`];
    await ok(kubectl, 'router-c', ['create', 'clusterrolebinding', 'live-reader', ...binding]);
    // The authorizer of the server that answers learns of the binding by its own watch.
    let allowed = 0;
    for (let attempt = 0; attempt < 50 && allowed !== 200; attempt++) {
      allowed = (await tlsRequest(url, nobody(suite()), { headers })).statusCode;
    }
    assert.equal(allowed, 200);
  });

  test('impersonation: the one who may becomes somebody else, the one who may not is refused', async () => {
    const { cluster } = suite();
    const headers = { 'impersonate-user': 'bob', 'impersonate-group': 'qa' };
    for (const origin of origins(suite())) {
      const { username, groups } = await whoIs(origin, cluster.admin, headers);
      assert.deepEqual([username, groups], ['bob', ['qa', 'system:authenticated']]);
      const refused = await ask(origin, alice(suite()), headers);
      assert.equal(refused.statusCode, 403);
      assert.match(refused.text, /cannot impersonate/);
    }
  });

  test('a token that nobody has signed is refused', async () => {
    for (const origin of origins(suite())) {
      const answer = await ask(origin, nobody(suite()), { authorization: 'Bearer not.a.token' });
      assert.equal(answer.statusCode, 401, origin);
    }
  });

  test('a caller without credentials is anonymous: refused what others may read, and told no 404', async () => {
    const { newer } = suite();
    for (const origin of origins(suite())) {
      for (const path of ['/api/v1/configmaps', collectionPath(newer)]) {
        const { statusCode, text } = await tlsRequest(`${origin}${path}`, nobody(suite()));
        assert.equal(statusCode, 403, `${origin}${path}`);
        assert.match(text, /system:anonymous/);
      }
      assert.equal((await tlsRequest(`${origin}/version`, nobody(suite()))).statusCode, 200);
    }
  });
}
