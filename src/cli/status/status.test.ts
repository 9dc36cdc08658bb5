import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { runCommand } from '../../../test/support/commands/command-context.ts';
import { routerToAsk } from '../../../test/support/routers/router-to-ask.ts';
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
    assert.match(output, /^cp-b +v1\.36\.0 +untried$/m);
    assert.match(output, /^RESOURCE +v1\.25\.0 +v1\.36\.0$/m);
    assert.match(output, /^apps\n(.*\n)? {2}v1 deployments +- +yes$/m);
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
    const { kubeconfig, run } = await routerToAsk(context);
    const wrong = await kubeconfig('wrong', { token: 'not-of-this-cluster' });
    const token = await run('status', `--kubeconfig=${wrong}`);
    assert.equal(token.code, 1);
    assert.ok(token.errors.includes(`returned 401: it does not accept the credentials in ${wrong}`));
    const nobody = await run('status', `--kubeconfig=${await kubeconfig('nobody')}`);
    assert.equal(nobody.code, 2);
    assert.match(nobody.errors, /users\[0\]\.user has no credentials: give user \S+ a client certificate/);
  });

  it('names the kubeconfig where its CA is not that of the router', async (context) => {
    const { kubeconfig, run, started } = await routerToAsk(context);
    const file = await kubeconfig('other', { token: 'any' }, started.authorities.frontProxies.certificate);
    const { code, errors } = await run('status', `--kubeconfig=${file}`);
    assert.equal(code, 1);
    assert.ok(errors.includes(`of another CA: see certificate-authority in ${file}`), errors);
  });

  it('asks as the user of the kubeconfig that KUBECONFIG names, else of the usual one', async (context) => {
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
    const ask = (environment: Record<string, string>, ...flags: string[]) =>
      runCommand(new Map(), ['status', '-o', 'json', ...flags], { environment });

    // As `KUBECONFIG=$KUBECONFIG:file` makes it where there was none.
    const { code, output } = await ask({ KUBECONFIG: `${delimiter}${await write('named', all)}` });
    assert.equal(code, 1, 'not ready without a snapshot');
    assert.equal(JSON.parse(output).serverId, 'cp-a');

    const nothing = await ask({ HOME: home });
    assert.equal(nothing.code, 2);
    assert.match(nothing.errors, /--kubeconfig is required, or the variable KUBECONFIG/);
    const usual = await write('.kube/config', all);
    assert.equal(JSON.parse((await ask({ HOME: home })).output).serverId, 'cp-a');
    assert.equal(JSON.parse((await ask({ HOME: home }, '--context=admin')).output).serverId, 'cp-a');

    const broken = await ask({ KUBECONFIG: usual }, '--context=other');
    assert.equal(broken.code, 2);
    assert.ok(broken.errors.includes(`KUBECONFIG: ${usual} has no context other; it has admin`));
    const gone = await ask({ KUBECONFIG: join(home, 'missing'), HOME: home });
    assert.match(gone.errors, /KUBECONFIG: .*missing cannot be used as a kubeconfig/);
    const several = await ask({ KUBECONFIG: [usual, usual].join(delimiter) });
    assert.match(several.errors, /KUBECONFIG names several files: name one of them with --kubeconfig/);
    const closed = await write('closed', { ...all, clusters: [wrong] });
    const refused = await ask({ KUBECONFIG: closed });
    assert.equal(refused.code, 1);
    assert.ok(refused.errors.includes(`https://127.0.0.1:1 (of ${closed}) cannot be asked`));
  });

  it('names every error of its flags at once', async () => {
    const { code, errors } = await runCommand(new Map(), [
      ...['status', '--server=http://router', '--kubeconfig=/none'],
    ]);
    assert.equal(code, 2);
    assert.match(errors, /--server "http:\/\/router"/);
    assert.match(errors, /--kubeconfig: \/none cannot be used as a kubeconfig/);
  });
});
