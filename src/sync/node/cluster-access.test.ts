import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { UnsecuredJWT } from 'jose';
import { eventually } from '../../../test/support/eventually.ts';
import { clusterAuthority, clusterClient, exampleCluster } from '../../../test/support/example-cluster.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import {
  type ClusterAccessOptions,
  execPluginCredentials,
  expiringCredentials,
  loadClusterAccess,
} from './cluster-access.ts';
import type { ExecPlugin } from './kubeconfig.ts';

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

const url = 'https://127.0.0.1:6443';

const noPlugin: ExecPlugin = {
  apiVersion: 'client.authentication.k8s.io/v1',
  command: '',
  args: [],
  env: [],
  installHint: undefined,
  provideClusterInfo: false,
};
const noCluster = {
  name: 'example',
  server: url,
  certificateAuthority: undefined,
  tlsServerName: undefined,
  skipsTlsVerification: false,
  proxyUrl: undefined,
};

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

/** What is told of a user whose credentials cannot be used, wherever it is told. */
async function refusalOf(kubeconfig: string): Promise<string> {
  try {
    await headersOf(kubeconfig);
  } catch (error) {
    assert.doesNotMatch(inspect(error, { depth: 5 }), /SECRET/);
    return error instanceof Error ? error.message.replaceAll(dirname(kubeconfig), '') : '';
  }
  return assert.fail('it was taken');
}

/** An exec plugin that prints `output`. */
async function plugin(context: TestContext, script: string) {
  const command = join(await temporaryDirectory(context), 'plugin');
  await writeFile(command, `#!/bin/sh\n${script}\n`);
  await chmod(command, 0o755);
  return { command, exec: { apiVersion: 'client.authentication.k8s.io/v1', command } };
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
    const status = String.raw`{"status":{"token":"SECRET\u000a."}}`;
    const { command, exec } = await plugin(context, `printf '%s' '${status}'`);
    const refusal = await refusalOf(await kubeconfigOf(context, { exec }));
    assert.ok(refusal.includes(`the token that the exec plugin ${command} gives for user sync-job`), refusal);
  });

  it('that is wrong in the kubeconfig itself is found when that is loaded', async (context) => {
    const kubeconfig = await kubeconfigOf(context, { token: 'two words' });
    await assert.rejects(loadClusterAccess({ kubeconfig }), { name: 'ClusterAccessError' });
  });
});

describe('who asks', () => {
  it('is whom a kubeconfig impersonates, with UID and groups', async (context) => {
    const kubeconfig = await kubeconfigOf(context, {
      token: 'secret',
      as: 'alice',
      'as-uid': '42',
      'as-groups': ['dev', 'qa'],
    });
    assert.deepEqual(await headersOf(kubeconfig), [
      ...['Impersonate-User', 'alice', 'Impersonate-Uid', '42'],
      ...['Impersonate-Group', 'dev', 'Impersonate-Group', 'qa'],
      ...['Authorization', 'Bearer secret'],
    ]);
  });
});

describe('an exec plugin', () => {
  it('is told of the cluster, as its API has it, and that nobody can type', async (context) => {
    const { exec } = await plugin(
      context,
      // What it is told comes back as its token.
      'if read -r line; then exit 1; fi\nprintf \'{"status":{"token":"%s"}}\' "$(printf %s "$KUBERNETES_EXEC_INFO" | base64 -w0)"',
    );
    const { kubeconfig } = await exampleCluster(context);
    const told = async (changes: object) => {
      const file = await kubeconfig(url, {
        cluster: { 'certificate-authority-data': Buffer.from(clusterAuthority).toString('base64') },
        user: { exec: { ...exec, ...changes } },
      });
      const [, token = ''] = await headersOf(file);
      return JSON.parse(Buffer.from(token.replace('Bearer ', ''), 'base64').toString());
    };
    const apiVersion = 'client.authentication.k8s.io/v1';
    assert.deepEqual(await told({}), { apiVersion, kind: 'ExecCredential', spec: { interactive: false } });
    assert.deepEqual((await told({ provideClusterInfo: true })).spec.cluster, {
      server: url,
      'certificate-authority-data': Buffer.from(clusterAuthority).toString('base64'),
    });
  });

  it('is asked again when what it gave has expired, and not before', async (context) => {
    const folder = await temporaryDirectory(context);
    const script = (expiry: string) =>
      `echo x >> ${folder}/x${expiry}; printf '{"status":{"token":"%s","expirationTimestamp":"${expiry}"}}' "$(wc -l < ${folder}/x${expiry})"`;
    const tokens = async (expiry: string) => {
      const { command } = await plugin(context, script(expiry));
      const ask = execPluginCredentials({ ...noPlugin, command }, noCluster, () => undefined);
      return [(await ask()).token, (await ask()).token];
    };
    assert.deepEqual(await tokens('2000-01-01T00:00:00Z'), ['1', '2']);
    assert.deepEqual(await tokens('3000-01-01T00:00:00Z'), ['1', '1']);
    assert.deepEqual(await tokens(''), ['1', '1']);
  });

  it('is asked again after a minute when it tells no expiry: nobody hears of the 401 that ends its token', async (context) => {
    const folder = await temporaryDirectory(context);
    const script = `echo x >> ${folder}/calls; printf '{"status":{"token":"%s"}}' "$(wc -l < ${folder}/calls)"`;
    const { command } = await plugin(context, script);
    const ask = execPluginCredentials({ ...noPlugin, command }, noCluster, () => undefined);
    context.mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
    assert.equal((await ask()).token, '1');
    context.mock.timers.setTime(1_059_999);
    assert.equal((await ask()).token, '1');
    context.mock.timers.setTime(1_060_000);
    assert.equal((await ask()).token, '2');
  });

  it('runs once for all who ask meanwhile, and is killed where it hangs, with its words told', async (context) => {
    const folder = await temporaryDirectory(context);
    const counted = await plugin(context, `echo x >> ${folder}/runs; printf '{"status":{"token":"t"}}'`);
    const ask = execPluginCredentials({ ...noPlugin, command: counted.command }, noCluster, () => undefined);
    await Promise.all([ask(), ask(), ask()]);
    assert.equal(await readFile(join(folder, 'runs'), 'utf8'), 'x\n');

    const hanging = await plugin(context, 'echo waiting for a browser >&2; exec sleep 600');
    const hangs = { ...noPlugin, command: hanging.command };
    await assert.rejects(
      execPluginCredentials(hangs, noCluster, () => undefined, { timeLimit: 200 })(),
      /^Error: did not end within 0\.2 s and was killed: waiting for a browser$/,
    );
  });

  it('is killed with whoever wants its credentials, whatever it heeds', async (context) => {
    const folder = await temporaryDirectory(context);
    const { command } = await plugin(context, `trap '' TERM; echo $$ > ${folder}/pid; exec sleep 600`);
    const ending = new AbortController();
    const { signal } = ending;
    const ask = execPluginCredentials({ ...noPlugin, command }, noCluster, () => undefined, { signal });
    const ended = assert.rejects(ask(), /^Error: failed: /);
    const pid = () => readFile(join(folder, 'pid'), 'utf8').catch(() => '');
    await eventually(async () => (await pid()).endsWith('\n'));
    ending.abort();
    await ended;
    const running = Number(await pid());
    assert.throws(() => process.kill(running, 0), { code: 'ESRCH' });
    await assert.rejects(ask(), { name: 'AbortError' }, 'nor is it run again');
  });

  it('may give a certificate, and is not asked where the kubeconfig has a token', async (context) => {
    const { certificate, key } = clusterClient;
    const status = { clientCertificateData: certificate, clientKeyData: key };
    const folder = await temporaryDirectory(context);
    await writeFile(join(folder, 'credential'), JSON.stringify({ status }));
    const { exec } = await plugin(context, `cat ${folder}/credential`);
    const access = await loadClusterAccess({ kubeconfig: await kubeconfigOf(context, { exec }) });
    assert.deepEqual((await access.credentials()).clientCertificate, clusterClient);
    const both = await kubeconfigOf(context, { token: 'secret', exec: { command: '/nowhere/plugin' } });
    assert.deepEqual(await headersOf(both), ['Authorization', 'Bearer secret']);
  });
});

describe('credentials that cannot be had', () => {
  it('name the user and what does not give them, and nothing that a plugin has written', async (context) => {
    const missing = await kubeconfigOf(context, { tokenFile: 'gone' });
    assert.match(await refusalOf(missing), /: user sync-job: ENOENT: .*\/gone'$/);
    for (const [script, told] of [
      ['echo SECRET', 'wrote something else than an ExecCredential with its status'],
      ['echo \'{"SECRET":1}\'', 'wrote something else than an ExecCredential with its status'],
      ['echo log in first >&2; echo again >&2; exit 1', 'failed: log in first; again'],
      ['exit 1', 'failed: it says nothing on standard error'],
    ] as const) {
      const { command, exec } = await plugin(context, script);
      const refusal = await refusalOf(await kubeconfigOf(context, { exec }));
      assert.ok(refusal.endsWith(`: the exec plugin ${command} of user sync-job ${told}`), refusal);
    }
    const gone = await kubeconfigOf(context, { exec: { command: '/nowhere/plugin' } });
    assert.match(
      await refusalOf(gone),
      /the exec plugin \/nowhere\/plugin of user sync-job cannot be run: .*ENOENT/,
    );
  });

  it('name a plugin that gives nothing, and tell how to install one that is not there', async (context) => {
    const { command, exec } = await plugin(context, 'echo \'{"status":{"clientKeyData":"SECRET"}}\'');
    const refusal = await refusalOf(await kubeconfigOf(context, { exec }));
    assert.ok(
      refusal.includes(`${command} of user sync-job gave neither a token nor a certificate`),
      refusal,
    );
    const missing = { command: '/nowhere/plugin', installHint: 'Install it with apt.' };
    assert.match(
      await refusalOf(await kubeconfigOf(context, { exec: missing })),
      /cannot be run: .*ENOENT\. Install it with apt\.$/,
    );
  });

  it('name an auth-provider, which is not supported', async (context) => {
    const kubeconfig = await kubeconfigOf(context, { 'auth-provider': { name: 'oidc' } });
    assert.match(await refusalOf(kubeconfig), /oidc of user sync-job is not supported: use an exec plugin/);
  });

  it('name the user whose impersonation could not be sent', async (context) => {
    const kubeconfig = await kubeconfigOf(context, { token: 'x', as: 'SECRET\u0000' });
    assert.match(
      await refusalOf(kubeconfig),
      /: as of user sync-job has a character that no header may have/,
    );
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
