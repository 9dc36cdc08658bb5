import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { runCommand } from '../../../test/support/command-context.ts';
import { routerToAsk } from '../../../test/support/router-to-ask.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';

describe('status', () => {
  it('shows the warning of a --server-id that the snapshot does not have, which is no failure', async (context) => {
    const { ask, push } = await routerToAsk(context, { 'server-id': ['cp-z'] });
    await push();
    const { code, output } = await ask('admin');
    assert.equal(code, 0);
    assert.match(
      output.replaceAll(/\n {4}/g, ' '),
      /^ {2}the snapshot has no server cp-z: .*"cp-a", "cp-b"/m,
    );
  });

  it('shows what a running router knows, as text and as JSON', async (context) => {
    const { ask, push } = await routerToAsk(context);
    const early = await ask('admin');
    assert.match(early.output, /Snapshot: +none yet/);
    assert.match(early.output, /^Ready: +no: .*snapshot/m);
    assert.equal(early.code, 1);
    assert.equal((await ask('admin', '-o', 'json')).code, 1);
    await push();
    const { code, output } = await ask('admin');
    assert.equal(code, 0);
    assert.match(output, /^Ready: +yes$/m);
    assert.match(output, /^Router: +sidecar of cp-a$/m);
    assert.match(output, /^Snapshot: +generation 1, /m);
    assert.match(output, /^cp-b +v1\.36\.0 +unknown$/m);
    assert.match(output, /^GROUP +v1\.25\.0 +v1\.36\.0$/m);
    assert.match(output, /^apps +0 of 2 +2 of 2$/m);
    assert.match((await ask('admin', '-o', 'wide')).output, /^apps\/v1 deployments +- +yes$/m);
    assert.equal(JSON.parse((await ask('admin', '-o', 'json')).output).serverId, 'cp-a');
  });

  it('says what to do when the router tells nothing, or cannot be reached', async (context) => {
    const { ask } = await routerToAsk(context);
    const stranger = await ask('stranger');
    assert.equal(stranger.code, 1);
    assert.match(
      stranger.errors,
      /returned 403: forbidden: User "stranger" cannot get path "\/\.mixed-version-proxy\/v1\/status": bind the caller to the ClusterRole mixed-version-proxy-monitor/,
    );
    const wrongName = await ask('admin', '--tls-server-name=example.com');
    assert.equal(wrongName.code, 1);
    assert.match(wrongName.errors, /cannot be asked: .*example\.com/);
  });

  it('names the credentials that a router does not accept, and asks for some where there are none', async (context) => {
    const { started, askBy } = await routerToAsk(context);
    const token = await askBy('--certificate-authority=ca.crt', '--token-file=token');
    assert.equal(token.code, 1);
    assert.match(token.errors, /returned 401: it does not accept the token in token$/m);
    const nobody = await askBy('--certificate-authority=ca.crt');
    assert.match(nobody.errors, /returned 403: forbidden: User "system:anonymous" cannot get path/);
    const home = await temporaryDirectory(context);
    const kubeconfig = join(home, 'config');
    const cluster = {
      server: `https://127.0.0.1:${started.port}`,
      'certificate-authority-data': Buffer.from(started.authorities.cluster.certificate).toString('base64'),
    };
    const config = {
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 'wrong' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    await writeFile(kubeconfig, JSON.stringify(config));
    const { errors } = await askBy(`--kubeconfig=${kubeconfig}`);
    assert.ok(errors.includes(`returned 401: it does not accept the credentials in ${kubeconfig}`), errors);
  });

  it('names the flag to look at where the router is of another CA', async (context) => {
    const { askBy } = await routerToAsk(context);
    for (const flags of [['--certificate-authority=front-proxy-ca.crt'], []]) {
      const { code, errors } = await askBy('--token-file=token', ...flags);
      assert.equal(code, 1);
      assert.match(
        errors,
        /cannot be asked: .*\. Its certificate is of another CA: see --certificate-authority$/m,
      );
    }
  });

  it('names the kubeconfig where its CA is not that of the router', async (context) => {
    const { askBy, started } = await routerToAsk(context);
    const kubeconfig = join(await temporaryDirectory(context), 'config');
    const cluster = {
      server: `https://127.0.0.1:${started.port}`,
      'certificate-authority-data': Buffer.from(started.authorities.frontProxies.certificate).toString(
        'base64',
      ),
    };
    const named = { clusters: [{ name: 'c', cluster }], users: [{ name: 'u', user: {} }] };
    const contexts = [{ name: 'x', context: { cluster: 'c', user: 'u' } }];
    await writeFile(kubeconfig, JSON.stringify({ ...named, contexts, 'current-context': 'x' }));
    const { code, errors } = await askBy(`--kubeconfig=${kubeconfig}`);
    assert.equal(code, 1);
    assert.ok(errors.includes(`of another CA: see certificate-authority in ${kubeconfig}, or give`), errors);
  });

  it('refuses files that TLS could not begin with before it asks, with exit code 2', async (context) => {
    const { askBy } = await routerToAsk(context);
    const swapped = await askBy('--client-certificate=admin.crt', '--client-key=stranger.key');
    assert.equal(swapped.code, 2);
    assert.match(
      swapped.errors,
      /^error: --client-key: the key in stranger\.key does not belong to the first certificate of admin\.crt$/m,
    );
    const noise = await askBy('--token-file=token', '--certificate-authority=token');
    assert.equal(noise.code, 2);
    assert.match(noise.errors, /^error: --certificate-authority: token holds no PEM certificate$/m);
  });

  it('asks as the user of the kubeconfig files that KUBECONFIG lists, else of the usual one', async (context) => {
    const { started, admin } = await routerToAsk(context);
    const home = await temporaryDirectory(context);
    const inline = (text: string) => Buffer.from(text).toString('base64');
    const cluster = {
      name: 'local',
      cluster: {
        server: `https://127.0.0.1:${started.port}`,
        'certificate-authority-data': inline(started.authorities.cluster.certificate),
      },
    };
    const user = {
      name: 'admin',
      user: {
        'client-certificate-data': inline(admin.chain),
        'client-key-data': inline(admin.privateKey),
      },
    };
    const contexts = [{ name: 'admin', context: { cluster: 'local', user: 'admin' } }];
    const write = async (name: string, config: object): Promise<string> => {
      const file = join(home, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...config }));
      return file;
    };
    const wrong = { name: 'local', cluster: { ...cluster.cluster, server: 'https://127.0.0.1:1' } };
    const all = { clusters: [cluster], users: [user], contexts, 'current-context': 'admin' };
    const listed = [
      join(home, 'missing'),
      await write('clusters', { clusters: [cluster] }),
      await write('users', { clusters: [wrong], users: [user], contexts, 'current-context': 'admin' }),
    ].join(delimiter);
    const ask = (environment: Record<string, string>, ...flags: string[]) =>
      runCommand(new Map(), ['status', '-o', 'json', ...flags], { environment });

    const { code, output } = await ask({ KUBECONFIG: listed });
    assert.equal(code, 1, 'not ready without a snapshot');
    assert.equal(JSON.parse(output).serverId, 'cp-a');

    const nothing = await ask({ HOME: home });
    assert.equal(nothing.code, 2);
    assert.match(nothing.errors, /--server is required.*or the variable KUBECONFIG/);
    const usual = await write('.kube/config', all);
    assert.equal(JSON.parse((await ask({ HOME: home })).output).serverId, 'cp-a');
    assert.equal(JSON.parse((await ask({ HOME: home }, '--context=admin')).output).serverId, 'cp-a');

    const broken = await ask({ KUBECONFIG: usual }, '--context=other');
    assert.equal(broken.code, 2);
    assert.ok(broken.errors.includes(`KUBECONFIG: ${usual} has no context other; it has admin`));
    const gone = await ask({ KUBECONFIG: join(home, 'missing'), HOME: home });
    assert.match(gone.errors, /KUBECONFIG: .*missing cannot be used as a kubeconfig/);
    const closed = await write('closed', { ...all, clusters: [wrong] });
    const refused = await ask({ KUBECONFIG: closed });
    assert.equal(refused.code, 1);
    assert.ok(refused.errors.includes(`https://127.0.0.1:1 (of ${closed}) cannot be asked`));
    // Flags that say all need no file, so a broken one is in nobody's way.
    const own = await runCommand(
      new Map([['token', 'x']]),
      ['status', '--server=https://127.0.0.1:1', '--token-file=token'],
      { environment: { KUBECONFIG: join(home, 'missing') } },
    );
    assert.match(own.errors, /https:\/\/127\.0\.0\.1:1 cannot be asked/);
  });

  it('tells of each file that a flag names once what is wrong with it', async () => {
    const files = new Map([
      ['noise', 'hunter2'],
      ['empty', ''],
    ]);
    const { code, errors } = await runCommand(files, [
      ...['status', '--server=https://router:6443', '--certificate-authority=noise', '--token-file=empty'],
      ...['--client-certificate=gone.crt', '--client-key=noise'],
    ]);
    assert.equal(code, 2);
    assert.deepEqual(errors.trimEnd().split('\n'), [
      'error: --client-certificate: cannot read gone.crt: ENOENT: no such file or directory',
      'error: --token-file: empty must hold one token and nothing else',
      'error: --certificate-authority: noise holds no PEM certificate',
    ]);
  });

  it('names every error of its flags at once', async () => {
    const { code, errors } = await runCommand(new Map([['token', 'two words']]), [
      'status',
      '--server=http://router',
      '--client-key=none.key',
      '--token-file=token',
      '--context=x',
    ]);
    assert.equal(code, 2);
    for (const issue of [
      /--client-key: cannot read none\.key/,
      /--client-certificate and --client-key go together/,
      /--server "http:\/\/router"/,
      /--token-file: token must hold one token/,
      /--context needs --kubeconfig/,
    ]) {
      assert.match(errors, issue);
    }
    assert.ok(!errors.includes('two words'));
  });
});
