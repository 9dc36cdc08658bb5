import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseKubeconfig } from './cluster-access.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

test('names that look like numbers are texts, and what kubectl writes as null is nothing', () => {
  const { contexts, clusters, users, currentContext } = parseKubeconfig(
    [
      'apiVersion: v1',
      'kind: Config',
      'preferences: {}',
      'current-context: 1.30',
      'contexts: [{name: 1.30, context: {cluster: 0x10, user: true}}]',
      'clusters: [{name: 0x10, cluster: {server: "https://10.0.0.1", certificate-authority-data: null}}]',
      'users: null',
    ].join('\n'),
    '/home/admin/.kube',
  );
  assert.equal(currentContext, '1.30');
  assert.deepEqual(contexts, [{ name: '1.30', cluster: '0x10', user: 'true' }]);
  assert.equal(clusters[0]?.name, '0x10');
  assert.equal(clusters[0].certificateAuthority, undefined);
  assert.deepEqual(users, []);
});

test('paths are beside the kubeconfig, and data wins over a file', () => {
  const { clusters, users } = parseKubeconfig(
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: 'https://c', 'certificate-authority': 'pki/ca.crt' } }],
      users: [
        {
          name: 'u',
          user: {
            'client-certificate': '/etc/u.crt',
            'client-certificate-data': base64('PEM'),
            'client-key': 'u.key',
          },
        },
      ],
    }),
    '/home/admin/.kube',
  );
  assert.deepEqual(clusters[0]?.certificateAuthority, { file: '/home/admin/.kube/pki/ca.crt' });
  assert.deepEqual(users[0]?.clientCertificate, { text: 'PEM' });
  assert.deepEqual(users[0].clientKey, { file: '/home/admin/.kube/u.key' });
});

test('whatever insecure-skip-tls-verify is but false, it is taken for true', () => {
  const skips = (value: string) =>
    parseKubeconfig(`clusters: [{name: c, cluster: {insecure-skip-tls-verify: ${value}}}]`, '/').clusters[0]
      ?.skipsTlsVerification;
  for (const value of ['true', 'yes', '"true"', 'True']) assert.equal(skips(value), true, value);
  for (const value of ['false', 'null', '""']) assert.equal(skips(value), false, value);
});

test('what is wrong is named by its place, and never quoted', () => {
  for (const [text, issue] of [
    ['', 'it holds neither clusters nor users'],
    ['SECRET', 'it holds neither clusters nor users'],
    ['users: [{name: a, user: {token: [SECRET]}}]', 'users.0.user.token is missing, or of another type'],
    ['users: [{user: {token: SECRET}}]', 'users.0.name is missing, or of another type'],
    ['users: SECRET', 'users is missing, or of another type'],
    ['users: []\nusers: SECRET', 'line 2, column 1: the key was given before'],
    ['users: [SECRET', 'line 1, column 15: this is neither YAML nor JSON'],
    ['users: *SECRET', 'it has an alias that cannot be resolved'],
  ] as const) {
    assert.throws(() => parseKubeconfig(text, '/'), { name: 'TypeError', message: issue });
  }
});
