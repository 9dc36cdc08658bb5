import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { UnsecuredJWT } from 'jose';
import {
  clusterAuthority,
  clusterClient,
  exampleCluster,
} from '../../../test/support/clusters/example-cluster.ts';
import { manualClock } from '../../../test/support/manual-clock.ts';
import type { ClusterAccessOptions } from '../configuration/serve-config.ts';
import { expiringCredentials, loadClusterAccess } from './cluster-access.ts';

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
      user: { token: 'secret', exec: null, as: '' },
    }),
  });
  assert.equal(other.server, 'https://10.0.0.1:6443/k8s/clusters/c-1');
  const { serverName } = other;
  const { headers, certificateAuthorities } = await other.credentials();
  assert.deepEqual(headers, ['Authorization', 'Bearer secret']);
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
      /\/nowhere\/kubeconfig cannot be used as a kubeconfig: no such file or directory$/,
    ],
    [{ kubeconfig: broken }, /cannot be used as a kubeconfig/],
    [{ kubeconfig: await kubeconfig(url), context: 'other' }, /has no context other; it has example\./],
    [{ kubeconfig: await kubeconfig(url, { context: 'gone' }) }, /has no cluster for its context gone/],
    [
      { kubeconfig: await kubeconfig(url, { cluster: { 'insecure-skip-tls-verify': true } }) },
      /insecure-skip-tls-verify: whoever responds would be sent the credentials .* set certificate-authority instead/,
    ],
    ...(await Promise.all(
      ['http://127.0.0.1:8080', 'https://', 'https://:6443', 'https://10.0.0.1:99999', '10.0.0.1:6443'].map(
        async (server) =>
          [
            { kubeconfig: await kubeconfig(server) },
            /: clusters\[0\]\.cluster\.server is ".*", which is not https:\/\/host:port/,
          ] as [ClusterAccessOptions, RegExp],
      ),
    )),
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

const url = 'https://127.0.0.1:6443';

async function kubeconfigOf(context: TestContext, user: object): Promise<string> {
  return (await exampleCluster(context)).kubeconfig(url, { user });
}

function validityOf(pem: string) {
  const { validFromDate, validToDate } = new X509Certificate(pem);
  return { notBefore: validFromDate.getTime(), notAfter: validToDate.getTime() };
}

async function headersOf(kubeconfig: string): Promise<readonly string[]> {
  return (await (await loadClusterAccess({ kubeconfig })).credentials()).headers;
}

/** The message about a user whose credentials cannot be used. No part of the error holds a secret. */
async function refusalOf(kubeconfig: string): Promise<string> {
  try {
    await headersOf(kubeconfig);
  } catch (error) {
    assert.doesNotMatch(inspect(error, { depth: 5 }), /SECRET/);
    return error instanceof Error ? error.message.replaceAll(dirname(kubeconfig), '') : '';
  }
  return assert.fail('it was taken');
}

describe('what is told of when the credentials of a kubeconfig expire', () => {
  it('is that of its certificate, and of a token that says so, wherever they stand', async (context) => {
    const { notBefore, notAfter } = validityOf(clusterClient.certificate);
    const both = await (await exampleCluster(context)).kubeconfig(url);
    const [certificate, ...others] = await expiringCredentials({ kubeconfig: both });
    assert.deepEqual(others, []);
    assert.deepEqual(
      [certificate?.name, certificate?.path, certificate?.notBefore, certificate?.notAfter],
      ['kubeconfig', both, notBefore, notAfter],
    );
    const token = new UnsecuredJWT({ sub: 'system:serviceaccount:a:b', iat: 1_000, exp: 4_000 }).encode();
    const inFile = await kubeconfigOf(context, { tokenFile: 'the-token' });
    const path = join(dirname(inFile), 'the-token');
    await writeFile(path, token);
    assert.deepEqual(await expiringCredentials({ kubeconfig: inFile }), [
      {
        name: 'kubeconfig',
        path,
        subject: 'the token of system:serviceaccount:a:b',
        notBefore: 1_000_000,
        notAfter: 4_000_000,
      },
    ]);
    await writeFile(path, 'opaque');
    assert.deepEqual(await expiringCredentials({ kubeconfig: inFile }), []);
  });
});

describe('the token of a kubeconfig', () => {
  it('is read again from its file: that of a ServiceAccount lives for an hour', async () => {
    const tokens = { now: 'first' };
    const config = {
      clusters: [{ name: 'c', cluster: { server: url } }],
      users: [{ name: 'u', user: { tokenFile: '/token' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    const clock = manualClock();
    const readFile = (path: string) => (path === '/token' ? tokens.now : JSON.stringify(config));
    const access = await loadClusterAccess({ kubeconfig: '/kubeconfig' }, readFile, clock);
    const sent = async () => (await access.credentials()).headers[1];
    assert.equal(await sent(), 'Bearer first');
    // Renewed by the kubelet after four fifths of its life.
    for (const token of ['second', 'third']) {
      await clock.advance(48 * 60_000);
      tokens.now = token;
      await clock.advance(12 * 60_000);
      assert.equal(await sent(), `Bearer ${token}`);
    }
  });

  it('is sent as it stands in the file of tokenFile, beside the kubeconfig, which wins over token', async (context) => {
    const kubeconfig = await kubeconfigOf(context, { tokenFile: 'the-token', token: 'other' });
    await writeFile(join(dirname(kubeconfig), 'the-token'), 'secret\n');
    assert.deepEqual(await headersOf(kubeconfig), ['Authorization', 'Bearer secret']);
  });

  it('that could not be sent is named by its place, and never shown', async (context) => {
    const given = await kubeconfigOf(context, { token: 'SECRET\u0007' });
    assert.match(await refusalOf(given), /^\/kubeconfig\S*: the token of user sync-job cannot be sent: /);
    const inFile = await kubeconfigOf(context, { tokenFile: 'the-token' });
    const file = join(dirname(inFile), 'the-token');
    for (const text of ['SECRET\u0000', 'SECRET\nand another line', 'SECRÉT', '', '\n']) {
      await writeFile(file, text);
      const refusal = await refusalOf(inFile);
      assert.match(
        refusal,
        /: the token in \/the-token, the tokenFile of user sync-job, cannot be sent/,
        text,
      );
    }
  });

  it('that is wrong in the kubeconfig itself is found when that is loaded', async (context) => {
    const kubeconfig = await kubeconfigOf(context, { token: 'two words' });
    await assert.rejects(loadClusterAccess({ kubeconfig }), { name: 'ClusterAccessError' });
  });
});

describe('credentials that cannot be had', () => {
  it('name the field that is missing of half a pair, or of all', async (context) => {
    const pair = { 'client-certificate': '/c.crt', 'client-key': '/c.key' };
    const place = 'users[0].user';
    for (const [user, message] of [
      [{ 'client-certificate': pair['client-certificate'] }, `${place}.client-key is missing`],
      [{ 'client-certificate-data': 'eA==' }, `${place}.client-key is missing`],
      [{ 'client-key': pair['client-key'] }, `${place}.client-certificate is missing`],
      [{ 'client-key-data': 'eA==', token: 'x' }, `${place}.client-certificate is missing`],
      [{}, `${place} has no credentials`],
      [{ token: '' }, `${place} has no credentials`],
    ] as const) {
      const kubeconfig = await kubeconfigOf(context, user);
      await assert.rejects(loadClusterAccess({ kubeconfig }), (error: Error) => {
        assert.equal(error.name, 'ClusterAccessError');
        assert.ok(error.message.includes(message), error.message);
        return true;
      });
    }
  });

  it('are not missed for fields that are there and empty', async (context) => {
    const user = { token: 'secret', 'as-groups': [], 'as-user-extra': {}, exec: null, username: '' };
    assert.deepEqual(await headersOf(await kubeconfigOf(context, user)), ['Authorization', 'Bearer secret']);
  });

  it('name the user and the file that does not give them', async (context) => {
    const missing = await kubeconfigOf(context, { tokenFile: 'gone' });
    assert.match(await refusalOf(missing), /: user sync-job: ENOENT: .*\/gone'$/);
  });

  it('name the field of a user that is not supported', async (context) => {
    for (const [field, value] of [
      ['exec', { command: 'SECRET' }],
      ['auth-provider', { name: 'SECRET' }],
      ['username', 'SECRET'],
      ['password', 'SECRET'],
      ['as', 'SECRET'],
      ['as-uid', 'SECRET'],
      ['as-groups', ['SECRET']],
      ['as-user-extra', { SECRET: ['SECRET'] }],
    ] as const) {
      const kubeconfig = await kubeconfigOf(context, { token: 'secret', [field]: value });
      const message = `: ${field} of user sync-job is not supported: use a client certificate, or a token of a service account.`;
      const refusal = await refusalOf(kubeconfig);
      assert.ok(refusal.endsWith(message), refusal);
    }
  });
});

describe('the certificates of a kubeconfig', () => {
  it('that hold none, or belong to another key, are named by their field and user, and never shown', async (context) => {
    const { kubeconfig } = await exampleCluster(context);
    const { clientCertificate } = await (
      await loadClusterAccess({ kubeconfig: await kubeconfig(url) })
    ).credentials();
    assert.ok(clientCertificate !== undefined);
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const pair = {
      'client-certificate-data': base64(clientCertificate.certificate),
      'client-key-data': base64(clientCertificate.key),
    };
    const refused = async (entries: object) => refusalOf(await kubeconfig(url, entries));
    assert.match(
      await refused({ user: { ...pair, 'client-certificate-data': base64('SECRET') } }),
      /^\/kubeconfig\S*: client-certificate of user sync-job holds no PEM certificate$/,
    );
    assert.match(
      await refused({ user: { ...pair, 'client-key-data': base64('SECRET') } }),
      /: client-key of user sync-job holds no usable PEM private key/,
    );
    assert.match(
      await refused({ user: pair, cluster: { 'certificate-authority-data': base64('SECRET') } }),
      /: certificate-authority holds no PEM certificate$/,
    );
  });
});
