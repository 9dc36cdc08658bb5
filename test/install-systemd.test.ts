import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { freePort } from '../scripts/harness/free-port.ts';
import {
  gatewayConfiguration,
  systemdPaths,
  systemdUnit,
  usualCommand,
} from '../src/cli/install/systemd-files.ts';
import type { SystemdHost } from '../src/cli/install/systemd-host.ts';
import { askOverHttps } from '../src/cli/terminal/ask-over-https.ts';
import { portInUse } from '../src/cli/terminal/command-context.ts';
import { commandContext } from './support/command-context.ts';
import { runInstall } from './support/run-install.ts';
import { syncCluster } from './support/sync-cluster.ts';
import { systemdMachine } from './support/systemd-machine.ts';

const repository = resolve(import.meta.dirname, '..');
const command = join(repository, 'bin/mixed-version-proxy');

/** A machine with systemd beside a cluster, and what a gateway in front of it is installed with. */
async function gatewayMachine(context: TestContext) {
  // First, so that its service ends before the cluster that it reads.
  const machine = await systemdMachine(context);
  const cluster = await syncCluster(context);
  const api = await cluster.startServer({ version: '1.36', name: 'cp-a' });
  const paths = systemdPaths(machine.root);
  const port = await freePort();
  const { router, frontProxyClient, clusterCa } = cluster.certificates;
  // What a test's cluster needs besides: it is on loopback.
  const configuration = (text = '') =>
    `${gatewayConfiguration(port, paths.snapshot)
      .replace('peers:\n', 'peers:\n  allowLoopback: true\n')
      .replace('serving:\n', 'serving:\n  bindAddress: 127.0.0.1\n')}frontProxy:
  certFile: ${frontProxyClient.certificate}
  keyFile: ${frontProxyClient.privateKey}
${text}`;
  const config = join(cluster.directory, 'router.yaml');
  const give = (text: string) => writeFile(config, text);
  await give(configuration());
  const files = [
    `--kubeconfig=${await cluster.kubeconfig(api)}`,
    `--tls-cert-file=${router.certificate}`,
    `--tls-private-key-file=${router.privateKey}`,
  ];

  const all = [`--config=${config}`, ...files];

  function run(args: readonly string[], host: SystemdHost = machine.host()) {
    const readFile = (path: string) => readFileSync(path, 'utf8');
    const given = ['systemd', `--command=${command}`, '--timeout=20s', ...args];
    return runInstall(given, { host }, commandContext(new Map(), { portInUse }), { readFile });
  }

  return {
    ...machine,
    paths,
    port,
    configuration,
    give,
    files,
    all,
    run,
    before: await machine.tree(),
    install: (...args: string[]) => run([...all, ...args]),
    undo: (...args: string[]) => run(['--undo', ...args]),
    async ask(path: string) {
      const { admin } = cluster.certificates;
      const [ca, certificate, key] = await Promise.all(
        [clusterCa, admin.certificate, admin.privateKey].map((each) => readFile(each, 'utf8')),
      );
      return askOverHttps({
        url: `https://127.0.0.1:${port}${path}`,
        serverName: 'kubernetes.default.svc',
        certificateAuthorities: ca,
        clientCertificate: { certificate: certificate ?? '', key: key ?? '' },
        headers: [],
        responseTimeout: 5_000,
        longestResponse: 1024 * 1024,
      });
    },
  };
}

test('one command starts a gateway as a service, which serves; one takes it off: every file and folder is as before', async (context) => {
  const machine = await gatewayMachine(context);
  const { errors, output } = await machine.install();
  assert.equal(errors, '');
  assert.match(output, new RegExp(`installed: the router is ready on ${machine.port}, as mixed-version`));
  assert.equal((await machine.ask('/api/v1/namespaces')).status, 200);
  const tree = await machine.tree();
  for (const name of ['sync.kubeconfig', 'tls.key']) {
    assert.ok(tree[`/etc/mixed-version-proxy/${name}`]?.startsWith('640\n'), name);
  }
  assert.ok(await machine.kept('account'));
  assert.match((await machine.run([])).output, /^nothing to do: the router is installed, and ready/);
  assert.equal((await machine.run(['--dry-run'])).output, 'nothing would change\n');
  assert.deepEqual(await machine.tree(), tree);

  const undone = await machine.undo();
  assert.equal(undone.errors, '');
  assert.match(undone.output, /removed: mixed-version-proxy\.service is stopped/);
  assert.deepEqual(await machine.tree(), machine.before);
  assert.equal(await machine.kept('account'), undefined);
  await assert.rejects(machine.ask('/readyz'));
  assert.match((await machine.undo()).output, /nothing to do/);
});

test('a dry run shows every file and command, shows no key, and changes nothing', async (context) => {
  const machine = await gatewayMachine(context);
  const { output, errors } = await machine.run([...machine.files, '--dry-run']);
  assert.equal(errors, '');
  const { snapshot: _, journal: __, ...written } = machine.paths;
  for (const path of Object.values(written)) assert.ok(output.includes(`+++ ${path}\n`), path);
  assert.match(output, /\+ExecStart=.* serve --config=/);
  assert.match(
    output,
    /would run: useradd .*\nwould run: systemctl daemon-reload\nwould run: systemctl enable --now/,
  );
  assert.ok(!output.includes('PRIVATE KEY') && !output.includes('client-key-data'));
  assert.deepEqual(await machine.tree(), machine.before);
  await machine.install();
  const installed = await machine.tree();
  const undo = await machine.undo('--dry-run');
  assert.match(undo.output, /^would run: systemctl disable --now/);
  assert.ok(undo.output.includes(`--- ${machine.paths.unit}\n+++ /dev/null`));
  assert.deepEqual(await machine.tree(), installed);
});

test('everything is put back when the router does not start, and the last lines of its journal are shown', async (context) => {
  const machine = await gatewayMachine(context);
  const { errors } = await machine.run([
    ...machine.files,
    `--secure-port=${machine.port}`,
    '--command=/bin/false',
  ]);
  assert.match(errors, /mixed-version-proxy\.service has failed\nthe last lines of its journal:/);
  assert.match(errors, /everything has been put back$/);
  assert.deepEqual(await machine.tree(), machine.before);
  assert.equal(await machine.kept('account'), undefined);
});

test('an installation that was there serves on when a change of it does not become ready', async (context) => {
  const machine = await gatewayMachine(context);
  await machine.install();
  const installed = await machine.tree();
  await machine.give(machine.configuration('# changed\n'));
  const { errors } = await machine.install('--command=/bin/false');
  assert.match(errors, /has failed\nthe last lines[\s\S]*everything has been put back$/);
  assert.deepEqual(await machine.tree(), installed);
  assert.match((await machine.run([])).output, /nothing to do: the router is installed, and ready/);
  assert.equal((await machine.ask('/api/v1/namespaces')).status, 200);
  assert.equal((await machine.install()).errors, '');
  assert.ok((await readFile(machine.paths.configuration, 'utf8')).endsWith('# changed\n'));
  await machine.undo();
  assert.deepEqual(await machine.tree(), machine.before);
});

test('everything is put back when systemctl fails, and half an installation is finished by the next one', async (context) => {
  const machine = await gatewayMachine(context);
  await machine.keep('failing', 'enable');
  assert.match((await machine.install()).errors, /systemctl enable --now .* failed: .*Access denied/);
  assert.deepEqual(await machine.tree(), machine.before);
  await machine.keep('failing', '');
  for (const writes of [2, 5, 9, 12]) {
    let left = writes;
    const host = machine.host();
    const write: SystemdHost['write'] = async (change) => {
      left -= 1;
      if (left < 0) throw new Error('killed');
      await host.write(change);
    };
    assert.match((await machine.run(machine.all, { ...host, write })).errors, /killed/, String(writes));
    if (writes === 9) assert.equal((await machine.install()).errors, '');
    assert.equal((await machine.undo()).errors, '', String(writes));
    assert.deepEqual(await machine.tree(), machine.before, String(writes));
  }
});

test('it refuses, and changes nothing, without root, systemctl, or a systemd that runs', async (context) => {
  const machine = await gatewayMachine(context);
  const refusal = async (host: SystemdHost) => (await machine.run(machine.files, host)).errors;
  assert.match(await refusal(machine.host({ isRoot: false })), /run it as root/);
  assert.match(await refusal(machine.host({ path: '/nowhere' })), /systemctl is not on the PATH/);
  assert.deepEqual(await machine.tree(), machine.before);
  await rm(join(machine.root, 'run/systemd'), { recursive: true });
  assert.match(await refusal(machine.host()), /systemd is not running: .*was not started by it/);
});

test('it refuses, and changes nothing, where the port is taken', async (context) => {
  const machine = await gatewayMachine(context);
  const other = createServer();
  await new Promise<void>((done) => other.listen(machine.port, '127.0.0.1', done));
  context.after(() => other.close());
  assert.match((await machine.install()).errors, /--secure-port: .*; free it, or take another port/);
  assert.deepEqual(await machine.tree(), machine.before);
});

test('it refuses a unit that it has not written, wherever systemd has it from', async (context) => {
  const machine = await gatewayMachine(context);
  await machine.keep('foreign', '/usr/lib/systemd/system/mixed-version-proxy.service');
  assert.match(
    (await machine.install()).errors,
    /^\/usr\/lib\/.* is a unit that this command has not written/,
  );
  assert.deepEqual(await machine.tree(), machine.before);
  await machine.write('/etc/systemd/system/mixed-version-proxy.service', '[Service]\nExecStart=/bin/other\n');
  const own = await machine.tree();
  assert.match((await machine.install()).errors, /is a unit that this command has not written/);
  assert.deepEqual(await machine.tree(), own);
});

test('it refuses files that cannot be read, too few of them, and a configuration that serve refuses', async (context) => {
  const machine = await gatewayMachine(context);
  assert.match((await machine.run(['--kubeconfig=/nowhere'])).errors, /--kubeconfig: \/nowhere is not there/);
  assert.match((await machine.run([`--kubeconfig=${machine.root}`])).errors, /cannot be read: EISDIR/);
  assert.match(
    (await machine.run([])).errors,
    /give --kubeconfig, --tls-cert-file, --tls-private-key-file: .*--config/,
  );
  assert.match(
    (await machine.run(['--command=/nowhere', ...machine.files])).errors,
    /no command that can be run/,
  );
  await machine.give(machine.configuration('serving.prot: 1\n'));
  assert.match(
    (await machine.install()).errors,
    /^the router could not start with this configuration:\n.*config\.yaml:\d+:1: .*prot/,
  );
  assert.deepEqual(await machine.tree(), machine.before);
});

test('the unit in deploy/systemd is the one that is written, and systemd finds no fault in it', async (context) => {
  const unit = await readFile(join(repository, 'deploy/systemd/mixed-version-proxy.service'), 'utf8');
  assert.equal(systemdUnit(usualCommand, systemdPaths().configuration), unit);
  if (spawnSync('systemd-analyze', ['--version']).error !== undefined) {
    context.diagnostic(
      'systemd-analyze is not on PATH (Debian: apt install systemd): the unit is not verified',
    );
    return;
  }
  const machine = await systemdMachine(context);
  const path = systemdPaths(machine.root).unit;
  await writeFile(path, systemdUnit(command, systemdPaths().configuration));
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', path], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});
