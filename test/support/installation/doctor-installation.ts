import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  type ExampleApiServer,
  type ExampleApiServerOptions,
  ExampleStore,
  startExampleApiServer,
} from '../../../demo/example-api-server/index.ts';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../../src/snapshot/signing/seal.ts';
import { createAuthority } from '../certificates.ts';
import { type CommandContextOptions, runCommand } from '../commands/command-context.ts';
import { servingPair } from '../routers/started-router.ts';
import { snapshotOf } from '../snapshots/snapshot-builder.ts';

interface InstallationOptions {
  /** Texts of files, instead of good ones. */
  readonly changes?: Readonly<Record<string, string>>;
  /** True if the snapshot has a peer, which does not run. Default: it has not. */
  readonly hasPeer?: boolean;
  /** The API server, as it is to differ from a good one. */
  readonly server?: (authorities: InstallationAuthorities) => Partial<ExampleApiServerOptions>;
}

/** PEM of the authorities of an installation. */
interface InstallationAuthorities {
  readonly cluster: string;
  readonly frontProxies: string;
}

interface Installation {
  readonly apiServer: ExampleApiServer;
  /** Where a file of it is. */
  path(name: string): string;
  /** Runs `doctor` with these arguments. Whatever it reads is read from the folder. */
  doctor(
    args: readonly string[],
    options?: CommandContextOptions,
  ): Promise<{ readonly code: number; readonly output: string; readonly errors: string }>;
  /** Runs `doctor` with the configuration file, and reads what it finds. */
  examine(
    args?: readonly string[],
    options?: CommandContextOptions,
  ): Promise<{ readonly code: number; readonly findings: readonly Finding[] }>;
}

/** A router's files in a folder, in front of one API server. */
export async function installation(
  context: TestContext,
  { changes = {}, hasPeer = false, server }: InstallationOptions = {},
): Promise<Installation> {
  const folder = await mkdtemp(join(tmpdir(), 'doctor-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  const path = (name: string): string => join(folder, name);
  const cluster = await createAuthority('kubernetes');
  const frontProxies = await createAuthority('front-proxy-ca');
  const apiServerPair = await servingPair(cluster, 'kube-apiserver');
  const authorities = { cluster: cluster.certificate, frontProxies: frontProxies.certificate };
  const apiServer = await startExampleApiServer({
    version: '1.36',
    name: 'cp-a',
    store: new ExampleStore(),
    tls: { cert: apiServerPair.chain, key: apiServerPair.privateKey },
    clientCa: authorities.cluster,
    requestHeaderCa: authorities.frontProxies,
    requestHeaderAllowedNames: ['front-proxy-client'],
    ...server?.(authorities),
  });
  context.after(() => apiServer.close());
  const serving = await servingPair(cluster, 'router');
  const frontProxy = await frontProxies.issue({ commonName: 'front-proxy-client', usage: 'client' });
  const syncJob = await cluster.issue({ commonName: 'sync-job', usage: 'client' });
  const key = await generateSigningKey('EdDSA');
  const peer = { url: 'https://127.0.0.1:1', serves: ['v1/pods'] };
  const snapshot = snapshotOf({ 'cp-a': ['v1/pods'], ...(hasPeer ? { 'cp-b': peer } : {}) });
  const files = {
    'serving.crt': serving.chain,
    'serving.key': serving.privateKey,
    'front-proxy.crt': frontProxy.chain,
    'front-proxy.key': frontProxy.privateKey,
    'ca.crt': cluster.certificate,
    'front-proxy-ca.crt': frontProxies.certificate,
    'keys.json': JSON.stringify({ keys: [key.publicJwk] }),
    snapshot: await sealSnapshot(snapshot, signingKeyOf(key.privateJwk)),
    'router.yaml': `apiVersion: mixed-version-proxy/v1alpha1
kind: RouterConfiguration
localServer: { id: cp-a, url: "${apiServer.url}" }
serving: { certFile: serving.crt, keyFile: serving.key }
peers: { caFile: ca.crt, allowLoopback: true }
frontProxy: { certFile: front-proxy.crt, keyFile: front-proxy.key }
authentication:
  clientCAFile: ca.crt
  requestHeader: { clientCAFile: front-proxy-ca.crt, allowedNames: [front-proxy-client] }
snapshot: { keysFile: keys.json, file: snapshot }
`,
    'sync-job.crt': syncJob.chain,
    'sync-job.key': syncJob.privateKey,
    'reader.kubeconfig': `apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: "${apiServer.url}", certificate-authority: ca.crt } }]
users: [{ name: u, user: { client-certificate: sync-job.crt, client-key: sync-job.key } }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
`,
    ...changes,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(path(name), text, { mode: 0o600 });
  const doctor: Installation['doctor'] = async (args, options) => {
    const texts = new Map<string, string>();
    for (const name of Object.keys(files)) texts.set(path(name), await readFile(path(name), 'utf8'));
    return runCommand(texts, ['doctor', ...args], options);
  };
  return {
    apiServer,
    path,
    doctor,
    async examine(args = [], options = {}) {
      const { code, output, errors } = await doctor(
        ['--config', path('router.yaml'), '-o', 'json', ...args],
        options,
      );
      assert.ok(output !== '', errors);
      return { code, findings: JSON.parse(output) };
    },
  };
}

/** The findings of one check, a line each. */
export function findingsOf(findings: readonly Finding[], check: string): string {
  return findings
    .filter((finding) => finding.check === check)
    .map(({ result, message }) => `${result}: ${message}`)
    .join('\n');
}
