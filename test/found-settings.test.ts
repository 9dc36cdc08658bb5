import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runCommandLine } from '../src/cli/run-command-line.ts';
import type { EmbeddedCluster } from './support/clusters/embedded-cluster.ts';
import { askRouter, eventuallyReturns, syncCluster } from './support/clusters/sync-cluster.ts';
import { commandContext } from './support/commands/command-context.ts';
import { startCommandProcess } from './support/commands/command-process.ts';
import { eventually } from './support/eventually.ts';
import { freePort } from './support/free-port.ts';
import { writeKubeadmLayout } from './support/installation/kubeadm-layout.ts';

/** A command line in this process, with the files of this machine. */
async function run(...args: string[]) {
  const { context, written } = commandContext(new Map());
  const code = await runCommandLine(args, { ...context, readFile: (path) => readFileSync(path, 'utf8') });
  return { code, ...written };
}

interface Finding {
  readonly check: string;
  readonly result: string;
  readonly message: string;
}

/** The API server of this host, and what kubeadm would have written for it. */
async function node(context: TestContext, host = hostname()) {
  const cluster = await syncCluster(context);
  const own = await cluster.startServer({ version: '1.36', name: 'cp-a', hostname: host });
  const peer = await cluster.startServer({ version: '1.35', name: 'cp-b' });
  const manifest = await writeKubeadmLayout(join(cluster.directory, 'kubernetes'), cluster.certificates, {
    securePort: own.port,
  });
  // Loopback alone is this test's; so is where the manifest is.
  const flags = [
    `--kubeconfig=${await cluster.kubeconfig(peer)}`,
    `--kube-apiserver-manifest=${manifest}`,
    '--bind-address=127.0.0.1',
    '--secure-port=0',
    '--allow-loopback-peers',
  ];
  return { cluster, own, peer, manifest, flags };
}

const originOf = (log: string) => /"origin":"(https:\/\/127\.0\.0\.1:\d+)"/.exec(log)?.[1];

async function served(router: { log(): string; isRunning(): boolean }): Promise<string> {
  await eventually(() => originOf(router.log()) !== undefined || !router.isRunning());
  return originOf(router.log()) ?? assert.fail(router.log());
}

const statusOf = (context: TestContext, origin: string, cluster: EmbeddedCluster) =>
  eventuallyReturns(askRouter(context, origin, cluster).status, ({ servers }) => servers.length === 2);

test('on a node of kubeadm a router needs a kubeconfig: it finds its server, its ID and all files, and tells them', async (context) => {
  const { cluster, own, manifest, flags } = await node(context);
  const { code, output, errors } = await run('serve', ...flags, '--dry-run');
  assert.equal(code, 0, errors);
  const pki = join(cluster.directory, 'kubernetes', 'pki');
  for (const line of [
    `--local-server=https://127.0.0.1:${own.port}\n    --secure-port of kube-apiserver in ${manifest}`,
    `--tls-cert-file=${pki}/apiserver.crt\n    --tls-cert-file of kube-apiserver in ${manifest}`,
    `--peer-ca-file=${pki}/ca.crt\n    has signed kube-apiserver's ${pki}/apiserver.crt`,
    '--secure-port=0\n    given as a flag',
  ]) {
    assert.ok(output.includes(line), `${line}\n\nin\n\n${output}`);
  }

  const router = startCommandProcess(context, ['serve', ...flags, '--logging-format=json']);
  const origin = await served(router);
  const { found, serverId } = await statusOf(context, origin, cluster);
  assert.equal(serverId, own.serverId);
  const authorities = found.find(({ flag }) => flag === '--client-ca-file');
  assert.match(`${authorities?.value}: ${authorities?.source}`, /ca\.crt: --client-ca-file of kube-apis/);
  router.signal('SIGTERM');
  assert.equal(await router.ended, 0);
});

test('doctor looks at what is found as at what is given, and tells which server is the local one', async (context) => {
  const { own, peer, flags } = await node(context, 'another-host');
  const { output } = await run('doctor', ...flags, '-o', 'json');
  const findings: readonly Finding[] = JSON.parse(output);
  const resultOf = (name: string) => findings.find(({ check }) => check === name)?.result;
  assert.ok(
    findings.some(({ check, message }) => check === 'found' && message.startsWith('--local-server=')),
  );
  assert.equal(findings.find(({ check }) => check === 'server ID')?.message, own.serverId);
  const checks = [own, peer].flatMap(({ serverId: id }) => [`server ${id}`, `identity at ${id}`]);
  for (const check of ['serving certificate', ...checks]) assert.equal(resultOf(check), 'ok', output);
});

test('doctor tells what to give where neither an address nor a Lease shows which server is the local one', async (context) => {
  const { own, peer, flags } = await node(context, 'another-host');
  const elsewhere = `--local-server=https://127.0.0.1:${await freePort()}`;
  const { code, output } = await run('doctor', ...flags, elsewhere, '-o', 'json');
  assert.equal(code, 2);
  const findings: readonly Finding[] = JSON.parse(output);
  const told = findings.find(({ check }) => check === 'server ID');
  assert.equal(told?.result, 'failed', output);
  for (const { serverId } of [own, peer]) assert.ok(told.message.includes(serverId), told.message);
  assert.match(told.message, /: give --server-id$/);
});

test('a kubeconfig whose user may not read the cluster is told by doctor', async (context) => {
  const { cluster, peer, flags } = await node(context);
  const path = join(cluster.directory, 'nobody.kubeconfig');
  const kubeconfig = readFileSync(await cluster.kubeconfig(peer), 'utf8');
  await writeFile(
    path,
    kubeconfig
      .replaceAll(/^.*client-key.*$/gm, '')
      .replaceAll(/^(\s*)client-certificate.*$/gm, '$1token: nobody'),
  );
  const { code, output } = await run('doctor', ...flags, `--kubeconfig=${path}`, '-o', 'json');
  assert.equal(code, 2);
  const findings: readonly Finding[] = JSON.parse(output);
  const told = findings.filter(({ check }) => check === 'cluster').map(({ message }) => message);
  assert.match(told.join(), /leases returned 40[13] instead of 200/);
});

test('a router whose API server is not there yet sends requests to the others, and knows its server once it is there', async (context) => {
  const cluster = await syncCluster(context);
  const peer = await cluster.startServer({ version: '1.35', name: 'cp-b' });
  const port = await freePort();
  const manifest = await writeKubeadmLayout(join(cluster.directory, 'kubernetes'), cluster.certificates, {
    securePort: port,
  });
  const router = startCommandProcess(context, [
    'serve',
    `--kubeconfig=${await cluster.kubeconfig(peer)}`,
    `--kube-apiserver-manifest=${manifest}`,
    '--bind-address=127.0.0.1',
    '--secure-port=0',
    '--allow-loopback-peers',
    '--logging-format=json',
  ]);
  const origin = await served(router);
  const { status, explain } = askRouter(context, origin, cluster);
  await eventuallyReturns(status, ({ servers }) => servers.length === 1);
  const { decision, candidates } = await explain('/api/v1/pods');
  assert.deepEqual([decision, candidates.map(({ id }) => id)], ['peer', [peer.serverId]]);
  const own = await cluster.startServer({ version: '1.36', name: 'cp-a', port });
  await eventuallyReturns(status, ({ serverId }) => serverId === own.serverId);
  router.signal('SIGTERM');
  assert.equal(await router.ended, 0);
});
