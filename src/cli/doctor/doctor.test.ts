import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startApiServer } from '../../../test/support/api-server-double.ts';
import { createAuthority } from '../../../test/support/certificates.ts';
import { runCommand } from '../../../test/support/command-context.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { servingPair } from '../../../test/support/started-router.ts';
import { sealSnapshot } from '../../snapshot/seal.ts';
import { generateSigningKey, signingKeyOf } from '../../snapshot/signing-key.ts';
import type { Finding } from './finding.ts';

const day = 86_400_000;

interface InstallationOptions {
  /** Texts of files, in the place of good ones. */
  readonly changes?: Readonly<Record<string, string>>;
  /** Whether the snapshot has a peer, which does not run. Default: it has. */
  readonly hasPeer?: boolean;
}

/** A router's files in a folder, in front of one API server. */
async function installation(
  context: TestContext,
  { changes = {}, hasPeer = true }: InstallationOptions = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'doctor-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  const path = (name: string): string => join(folder, name);
  const cluster = await createAuthority('kubernetes');
  const frontProxies = await createAuthority('front-proxy-ca');
  const apiServer = await startApiServer(context, 'http/1.1', {
    pair: await servingPair(cluster, 'kube-apiserver'),
    clientAuthorities: frontProxies.certificate,
  });
  const serving = await servingPair(cluster, 'router');
  const frontProxy = await frontProxies.issue({ commonName: 'front-proxy-client', usage: 'client' });
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
localServer: { id: cp-a, url: "https://127.0.0.1:${apiServer.port}" }
serving: { certFile: serving.crt, keyFile: serving.key }
peers: { caFile: ca.crt, allowLoopback: true }
frontProxy: { certFile: front-proxy.crt, keyFile: front-proxy.key }
authentication:
  clientCAFile: ca.crt
  requestHeader: { clientCAFile: front-proxy-ca.crt, allowedNames: [front-proxy-client] }
snapshot: { keysFile: keys.json, file: snapshot }
`,
    ...changes,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(path(name), text, { mode: 0o600 });
  const examine = async (now?: number): Promise<{ code: number; findings: readonly Finding[] }> => {
    const texts = new Map<string, string>();
    for (const name of Object.keys(files)) texts.set(path(name), await readFile(path(name), 'utf8'));
    const { code, output, errors } = await runCommand(
      texts,
      ['doctor', '--config', path('router.yaml'), '-o', 'json'],
      now === undefined ? {} : { now },
    );
    assert.ok(output !== '', errors);
    return { code, findings: JSON.parse(output) };
  };
  return { path, examine };
}

function of(findings: readonly Finding[], check: string): string {
  return findings
    .filter((finding) => finding.check === check)
    .map(({ result, message }) => `${result}: ${message}`)
    .join('\n');
}

describe('doctor', () => {
  it('finds all well but a peer that does not run, and says so', async (context) => {
    const { examine } = await installation(context);
    const { code, findings } = await examine();
    assert.equal(code, 2);
    const bad = findings.filter(({ result }) => result !== 'ok').map(({ check }) => check);
    assert.deepEqual(bad, ['server cp-b'], JSON.stringify(findings, null, 2));
    assert.match(of(findings, 'server cp-b'), /failed: .*cannot be reached: .*Nothing listens there/);
    assert.match(of(findings, 'server cp-a'), /ok: .* is ready/);
    assert.match(of(findings, 'snapshot'), /ok: generation 1, /);
    assert.match(of(findings, 'front-proxy identity'), /^ok: /);
  });

  it('ends with exit code 0 where all is well, and 1 where there are warnings only', async (context) => {
    const { path, examine } = await installation(context, { hasPeer: false });
    assert.equal((await examine()).code, 0);
    await chmod(path('serving.key'), 0o644);
    const { code, findings } = await examine();
    assert.equal(code, 1);
    assert.match(of(findings, 'permissions of keys'), /warning: .*serving\.key has mode 644: chmod 600/);
  });

  it('sees a stored snapshot that the router could not begin with', async (context) => {
    const { examine } = await installation(context, { changes: { snapshot: 'noise' } });
    const { code, findings } = await examine();
    assert.equal(code, 2);
    assert.match(of(findings, 'snapshot'), /^failed: .*would begin without a snapshot/);
  });

  it('sees certificates and snapshots that are past their time', async (context) => {
    const { examine } = await installation(context);
    const { findings } = await examine(Date.now() + 36_500 * day);
    assert.match(of(findings, 'serving certificate'), /^failed: .*expired at .*renew it/);
    assert.match(of(findings, 'snapshot'), /^warning: .*expired .* ago: does the sync job run/);
    assert.match(of(findings, 'server cp-a'), /its clock is .* behind this one/);
  });

  it('sees a front-proxy pair that peers would not believe, and a server of another authority', async (context) => {
    const other = await createAuthority('another');
    const pair = await other.issue({ commonName: 'front-proxy-client', usage: 'client' });
    const changes = {
      'front-proxy.crt': pair.certificate,
      'front-proxy.key': pair.privateKey,
      'ca.crt': other.certificate,
    };
    const { examine } = await installation(context, { changes });
    const { code, findings } = await examine();
    assert.equal(code, 2);
    assert.match(of(findings, 'front-proxy identity'), /^warning: .*not of a CA in .*front-proxy-ca\.crt/);
    assert.match(of(findings, 'server cp-a'), /^failed: .*of another CA: see --peer-ca-file/);
  });

  it('does not ask a peer at an address that the router would not call', async (context) => {
    const { path, examine } = await installation(context);
    const text = await readFile(path('router.yaml'), 'utf8');
    await writeFile(path('router.yaml'), text.replace(', allowLoopback: true', ''));
    const { findings } = await examine();
    assert.match(of(findings, 'server cp-b'), /^failed: .*cannot be reached: 127\.0\.0\.1 .*loopback/);
    assert.match(of(findings, 'server cp-a'), /^ok: /);
  });

  it('stops at a configuration that cannot be used, with every fault of it', async () => {
    const files = new Map([['router.yaml', 'kind: RouterConfiguration\nservign: {}\n']]);
    const { code, output, errors } = await runCommand(files, ['doctor', '--config', 'router.yaml']);
    assert.equal(code, 2);
    assert.equal(output, '');
    assert.match(errors, /apiVersion is required/);
    assert.match(errors, /servign is no key.*did you mean serving\?/);
  });
});
