import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Agent, request } from 'undici';
import { runCommandLine } from '../src/cli/run-command-line.ts';
import { portInUse } from '../src/cli/terminal/command-context.ts';
import { type CommandContextOptions, commandContext } from './support/command-context.ts';
import { startCommandProcess } from './support/command-process.ts';
import type { EmbeddedCluster } from './support/embedded-cluster.ts';
import { eventually } from './support/eventually.ts';
import { freePort } from './support/free-port.ts';
import { writeKubeadmLayout } from './support/kubeadm-layout.ts';
import { listenOnLoopback } from './support/listen-on-loopback.ts';
import { askRouter, eventuallyReturns, syncCluster } from './support/sync-cluster.ts';

/** A command line in this process, with the files of this machine. */
async function run(...args: string[]) {
  return runWith({}, ...args);
}

async function runWith(options: CommandContextOptions, ...args: string[]) {
  const { context, written } = commandContext(new Map(), options);
  const code = await runCommandLine(args, { ...context, readFile: (path) => readFileSync(path, 'utf8') });
  return { code, ...written };
}

/** Message of a dry run with these flags, which is refused. */
async function refusal(...flags: string[]): Promise<string> {
  const { code, errors } = await run('serve', ...flags, '--dry-run');
  assert.equal(code, 2);
  return errors;
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
    `--server-id=${own.serverId}\n    identity Lease of this host, ${hostname()}`,
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
  assert.deepEqual(
    found.find(({ flag }) => flag === '--server-id'),
    { flag: '--server-id', value: own.serverId, source: `identity Lease of this host, ${hostname()}` },
  );
  const authorities = found.find(({ flag }) => flag === '--client-ca-file');
  assert.match(`${authorities?.value}: ${authorities?.source}`, /ca\.crt: --client-ca-file of kube-apis/);
  router.signal('SIGTERM');
  assert.equal(await router.ended, 0);
});

test('doctor looks at what is found as at what is given', async (context) => {
  const { own, flags } = await node(context);
  const { output } = await run('doctor', ...flags, '-o', 'json');
  const findings: readonly { check: string; message: string }[] = JSON.parse(output);
  const messages = findings.filter(({ check }) => check === 'found').map(({ message }) => message);
  assert.ok(messages.some((message) => message.startsWith(`--server-id=${own.serverId}: identity Lease`)));
  assert.ok(findings.some(({ check }) => check === 'serving certificate'));
});

test('doctor looks at all else while the ID of the server cannot be found', async (context) => {
  const { own, peer, flags } = await node(context, 'another-host');
  const { code, output } = await run('doctor', ...flags, '-o', 'json');
  assert.equal(code, 2);
  const findings: readonly { check: string; result: string; message: string }[] = JSON.parse(output);
  const resultOf = (name: string) => findings.find(({ check }) => check === name)?.result;
  assert.equal(resultOf('server ID'), 'failed');
  const checks = [own, peer].flatMap(({ serverId: id }) => [`server ${id}`, `identity at ${id}`]);
  for (const check of ['serving certificate', ...checks]) {
    assert.equal(resultOf(check), 'ok', output);
  }
});

test('a kubeconfig whose user may not read the cluster is told, with where its rights are listed', async (context) => {
  const { cluster, peer, flags } = await node(context);
  const path = join(cluster.directory, 'nobody.kubeconfig');
  const kubeconfig = readFileSync(await cluster.kubeconfig(peer), 'utf8');
  await writeFile(
    path,
    kubeconfig
      .replaceAll(/^.*client-key.*$/gm, '')
      .replaceAll(/^(\s*)client-certificate.*$/gm, '$1token: nobody'),
  );
  assert.match(
    await refusal(...flags, `--kubeconfig=${path}`),
    /leases returned 40[13] instead of 200.*nobody\.kubeconfig may lack a right: deploy\/kubernetes\/reader\.yaml/,
  );
});

test('a host without an identity Lease is told whose there are, and what to give', async (context) => {
  const { flags } = await node(context, 'another-host');
  assert.match(
    await refusal(...flags),
    /--server-id is not given, and cannot be found: no identity Lease in kube-system is of this host, .* \(they are of another-host, cp-b\), and no endpoint of the Service kubernetes leads to it: give --server-id/,
  );
});

test('a dry run that cannot find the ID of the server looks at the port all the same: one round tells of both', async (context) => {
  const { flags } = await node(context, 'another-host');
  const other = await listenOnLoopback(createServer());
  context.after(() => other.stop());
  const { code, errors } = await runWith(
    { portInUse },
    ...['serve', ...flags, '--dry-run', '--bind-address=127.0.0.1', `--secure-port=${other.port}`],
  );
  assert.equal(code, 2);
  assert.match(errors, new RegExp(`warning: --secure-port: 127\\.0\\.0\\.1:${other.port} is in use`));
  assert.match(errors, /error: --server-id is not given, and cannot be found/);
});

test('a router that waits for the ID of its API server lives, is not ready, and tells everyone who asks what it waits for', async (context) => {
  const { cluster, peer, flags } = await node(context, 'another-host');
  const port = await freePort();
  const { certificateAuthorities: ca } = cluster.credentials;
  const agent = new Agent({ connect: { ca } });
  context.after(() => agent.destroy());
  const ask = async (path: string) => {
    const { statusCode, body } = await request(`https://127.0.0.1:${port}${path}`, { dispatcher: agent });
    return { status: statusCode, text: await body.text() };
  };
  const router = startCommandProcess(context, [
    'serve',
    ...flags,
    `--secure-port=${port}`,
    '--logging-format=json',
  ]);
  await eventuallyReturns(
    () => ask('/livez'),
    ({ status }) => status === 200,
  );
  const what = 'this router waits for the identity Lease, or the endpoint, of its API server';
  const ready = await ask('/readyz?verbose');
  assert.equal(ready.status, 500);
  assert.match(ready.text, /^\[-\]server-id failed: reason withheld$/m);
  assert.match(ready.text, new RegExp(`^warn: server-id: ${what}`, 'm'));
  const other = await ask('/api/v1/pods');
  assert.equal(other.status, 503);
  assert.ok(JSON.parse(other.text).message.startsWith(what), other.text);
  const { code, errors } = await run(
    'status',
    `--server=https://127.0.0.1:${port}`,
    `--kubeconfig=${await cluster.kubeconfig(peer)}`,
  );
  assert.equal(code, 1);
  assert.match(errors, new RegExp(`returned 503: ${what}`));
  router.signal('SIGHUP');
  // Read by the same process after the signal was heard.
  assert.equal((await ask('/livez')).status, 200);

  const own = await cluster.startServer({ version: '1.36', name: 'cp-c', hostname: hostname() });
  await eventuallyReturns(
    () => ask('/readyz?verbose'),
    ({ text }) => text.includes('[+]server-id ok'),
  );
  // The API server's own word on an anonymous caller.
  assert.notEqual((await ask('/api/v1/pods')).status, 503);
  await eventuallyReturns(askRouter(context, `https://127.0.0.1:${port}`, cluster).status, ({ found }) =>
    found.some(({ flag, value }) => flag === '--server-id' && value === own.serverId),
  );
  router.signal('SIGTERM');
  assert.equal(await router.ended, 0);
});

test('a router that waits for the ID of its API server ends in order at SIGTERM, as one that serves', async (context) => {
  const { flags } = await node(context, 'another-host');
  const router = startCommandProcess(context, ['serve', ...flags, '--logging-format=json']);
  await served(router);
  await eventually(() => /"reason":"--server-id is not given, and cannot be found/.test(router.log()));
  router.signal('SIGTERM');
  assert.equal(await router.ended, 0);
  assert.match(router.log(), /"msg":"Shutting down".*"msg":"Draining".*"msg":"Ended"/s);
});

test('a kube-apiserver that still has the port of the router is named before anything listens', async (context) => {
  const { own, flags } = await node(context);
  const errors = await refusal(...flags, `--secure-port=${own.port}`);
  assert.match(errors, /--local-server .* is where the router itself is to listen .*move kube-apiserver/);
  assert.match(errors, /kubeadm moves it there .* repeat mixed-version-proxy install kubeadm on this node/);
  assert.match(errors, /found: --secure-port of kube-apiserver in .*give another with --local-server/);
});

test('a router whose kube-apiserver is given its port again, as by an upgrade without patches, says what to do, and loads certificates still', async (context) => {
  const { cluster, manifest, flags } = await node(context);
  const port = await freePort();
  const router = startCommandProcess(context, [
    'serve',
    ...flags,
    `--secure-port=${port}`,
    '--logging-format=json',
  ]);
  const origin = await served(router);
  const { status } = askRouter(context, origin, cluster);
  const ofManifest = ({ warnings }: { readonly warnings: readonly string[] }) =>
    warnings.filter((warning) => warning.startsWith('kube-apiserver is to listen'));
  const before = readFileSync(manifest, 'utf8');
  const authority = join(cluster.directory, 'kubernetes', 'pki', 'ca.crt');
  await writeFile(manifest, before.replace(/--secure-port=\d+/, `--secure-port=${port}`));
  await writeFile(authority, `${readFileSync(authority, 'utf8')}\n`);
  router.signal('SIGHUP');
  const told = await eventuallyReturns(status, (each) => ofManifest(each).length > 0);
  assert.match(
    ofManifest(told).join(),
    /kube-apiserver is to listen on \d+, where the router listens\. kubeadm .* without --patches \S+: then repeat mixed-version-proxy install kubeadm on this node$/,
  );
  assert.match(router.log(), /Reloaded: certificates, keys and kubeconfig/);
  assert.match(
    router.log(),
    /"level":"error".*The router will not reach kube-apiserver where its manifest has it/,
  );

  await writeFile(manifest, before);
  router.signal('SIGHUP');
  await eventuallyReturns(status, (each) => ofManifest(each).length === 0);
  router.signal('SIGTERM');
  assert.equal(await router.ended, 0);
});

test('found files that cannot be read are named with their source', async (context) => {
  const { cluster, flags } = await node(context);
  await writeFile(join(cluster.directory, 'kubernetes', 'pki', 'apiserver.key'), 'noise');
  assert.match(
    await refusal(...flags),
    /--tls-private-key-file: .*apiserver\.key .*\(found: --tls-private-key-file of kube-api/,
  );
});
