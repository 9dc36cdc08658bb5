import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { clusterAuthority, clusterClient, exampleCluster } from '../../../test/support/example-cluster.ts';
import { type ClusterAccessOptions, loadClusterAccess } from './cluster-access.ts';

test('a kubeconfig gives authorities, certificate, headers and name', async (context) => {
  const { kubeconfig } = await exampleCluster(context);
  const access = await loadClusterAccess({ kubeconfig: await kubeconfig('https://127.0.0.1:6443/') });
  assert.equal(access.server, 'https://127.0.0.1:6443');
  assert.deepEqual(await access.credentials(), {
    certificateAuthorities: clusterAuthority,
    clientCertificate: clusterClient,
    headers: [],
  });
  const other = await loadClusterAccess({
    kubeconfig: await kubeconfig('https://10.0.0.1:6443/k8s/clusters/c-1', {
      cluster: { 'tls-server-name': 'api.example.com' },
      user: { token: 'secret', as: 'alice' },
    }),
  });
  assert.equal(other.server, 'https://10.0.0.1:6443/k8s/clusters/c-1');
  const { serverName } = other;
  const { headers, certificateAuthorities } = await other.credentials();
  assert.deepEqual(headers, ['Impersonate-User', 'alice', 'Authorization', 'Bearer secret']);
  assert.equal(serverName, 'api.example.com');
  assert.equal(certificateAuthorities, undefined);
});

test('a kubeconfig that cannot be used is an error that says what to do', async (context) => {
  const { kubeconfig } = await exampleCluster(context);
  const url = 'https://127.0.0.1:6443';
  const broken = await kubeconfig(url);
  await writeFile(broken, 'clusters: [');
  const cases: readonly [ClusterAccessOptions, RegExp][] = [
    [
      { kubeconfig: '/nowhere/kubeconfig' },
      /\/nowhere\/kubeconfig cannot be used as a kubeconfig: ENOENT: no such file or directory$/,
    ],
    [{ kubeconfig: broken }, /cannot be used as a kubeconfig/],
    [{ kubeconfig: await kubeconfig(url), context: 'other' }, /has no context other; it has example\./],
    [{ kubeconfig: await kubeconfig(url, { context: 'gone' }) }, /has no cluster for its context gone/],
    [
      { kubeconfig: await kubeconfig(url, { cluster: { 'insecure-skip-tls-verify': true } }) },
      /insecure-skip-tls-verify: whoever responds would be sent the credentials .* set certificate-authority instead/,
    ],
    [{ kubeconfig: await kubeconfig('http://127.0.0.1:8080') }, /http:\/\/127.0.0.1:8080 is not https/],
    [
      { kubeconfig: await kubeconfig(url, { cluster: { 'proxy-url': 'http://127.0.0.1:3128' } }) },
      /has a proxy-url, which is not supported: .* Remove it/,
    ],
  ];
  for (const [options, message] of cases) {
    await assert.rejects(
      loadClusterAccess(options),
      (error) => error instanceof TypeError && message.test(error.message),
    );
  }
});

test('what a broken kubeconfig holds is never shown: the line before the error may be a token', async (context) => {
  const { kubeconfig } = await exampleCluster(context);
  const broken = await kubeconfig('https://127.0.0.1:6443');
  const text = 'users:\n- name: example\n  user:\n    token: SECRET-TOKEN\n   bad: indentation\n';
  await writeFile(broken, text);
  for (const options of [{ kubeconfig: broken }, { kubeconfig: broken, text }]) {
    await assert.rejects(loadClusterAccess(options), (error) => {
      assert.ok(error instanceof TypeError);
      assert.doesNotMatch(inspect(error, { depth: 5 }), /SECRET/);
      assert.match(
        error.message,
        /cannot be used as a kubeconfig: line 5, column \d+: this is neither YAML nor JSON/,
      );
      return true;
    });
  }
});

test('outside of a pod there is no in-cluster identity', async (context) => {
  // These tests themselves may run in one.
  const host = process.env['KUBERNETES_SERVICE_HOST'];
  delete process.env['KUBERNETES_SERVICE_HOST'];
  context.after(() => {
    if (host !== undefined) process.env['KUBERNETES_SERVICE_HOST'] = host;
  });
  await assert.rejects(loadClusterAccess({ inCluster: true }), /no pod of a cluster/);
});
