import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createCertificateAuthority } from '../../demo/certificate-authority.ts';
import { serveFlags } from '../../demo/routers.ts';
import { validateServeOptions } from '../../src/cli/serve/validate-serve-options.ts';
import { createAssertionSigner } from '../../src/index.ts';
import type { RunningRouter } from '../../src/node/configuration/serve-config.ts';
import { startRouter } from '../../src/node/process/start-router.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { generateSigningKey, signingKeyOf } from '../../src/snapshot/signing/signing-key.ts';
import { findKubectls, type Kubectl, kubectlMissing, runKubectl } from '../support/kubectl.ts';
import { type DemoUnderTest, startDemo } from '../support/running-demo.ts';

const edgeId = 'edge';
/** The newest one: exec speaks WebSocket from 1.30 on. */
const kubectl = findKubectls().at(-1);

describe('kubectl with each kind of identity', { skip: kubectl === undefined && kubectlMissing }, () => {
  let running: DemoUnderTest;
  let directory: string;
  let edge: RunningRouter;
  const edgeKey = generateSigningKey('EdDSA');

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'identity-'));
    const file = async (name: string, text: string): Promise<string> => {
      await writeFile(join(directory, name), text, { mode: 0o600 });
      return join(directory, name);
    };
    const { publicJwk, privateJwk } = await edgeKey;
    running = await startDemo({
      routerFlags: {
        'assertion-keys': [
          await file('edge.json', JSON.stringify({ keys: [{ ...publicJwk, issuer: edgeId }] })),
        ],
      },
    });
    edge = await startEdge(await file('edge-key.json', JSON.stringify(privateJwk)));
  });
  after(async () => {
    await edge?.close(0);
    await running?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** A router without a front-proxy pair, in front of the first router: it has nothing to speak with but signatures. */
  async function startEdge(signingKey: string): Promise<RunningRouter> {
    const { demo, home } = running;
    const [apiServer] = demo.apiServers;
    const [behind] = demo.routers;
    assert.ok(apiServer && behind);
    const {
      'proxy-client-cert-file': _certificate,
      'proxy-client-key-file': _key,
      ...flags
    } = serveFlags({
      apiServer,
      certificates: demo.certificates,
      snapshotKeys: join(home, '.demo/keys/snapshot-keys.json'),
      snapshotFile: join(directory, 'edge-snapshot'),
      logger: silentLogger,
    });
    const result = await validateServeOptions(
      {
        ...flags,
        'local-server': [behind.origin],
        'local-identity': ['assertion'],
        'peer-identity': ['assertion'],
        'assertion-issuer': [edgeId],
        'assertion-signing-key': [signingKey],
      },
      {
        readFile: (path) => readFileSync(path, 'utf8'),
        network: { addresses: [], defaultRouteInterfaces: [] },
        now: Date.now(),
      },
    );
    assert.ok(result.ok, JSON.stringify(result));
    return startRouter(result.config, silentLogger);
  }

  const run = (args: readonly string[], input?: string) =>
    runKubectl(kubectl as Kubectl, running.home, ['--kubeconfig', running.demo.kubeconfig, ...args], input);
  /** As nobody in particular: the kubeconfig's own certificate is not used. */
  const runAs = (server: string, credentials: readonly string[], args: readonly string[]) =>
    runKubectl(kubectl as Kubectl, running.home, [
      '--kubeconfig=/dev/null',
      `--server=${server}`,
      `--certificate-authority=${running.demo.certificates.clusterCa}`,
      ...credentials,
      ...args,
    ]);
  const routerOrigin = () => running.demo.routers[0]?.origin ?? '';
  const userOf = (stdout: string) =>
    (JSON.parse(stdout) as { status: { userInfo: { username: string; groups: string[] } } }).status.userInfo;

  async function withPod(name: string, use: () => Promise<void>): Promise<void> {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    };
    assert.equal((await run(['create', '-f', '-'], JSON.stringify(pod))).code, 0);
    try {
      await use();
    } finally {
      await run(['delete', 'pod', name]);
    }
  }

  test('an assertion of a router without a front-proxy pair: whoami and exec show the user behind it', async () => {
    const { alice } = running.demo.certificates;
    const credentials = [`--client-certificate=${alice.certificate}`, `--client-key=${alice.privateKey}`];
    const whoami = await runAs(edge.origin, credentials, ['auth', 'whoami', '-o', 'json']);
    assert.equal(whoami.code, 0, whoami.stderr);
    assert.equal(userOf(whoami.stdout).username, 'alice');
    assert.deepEqual(userOf(whoami.stdout).groups, ['dev', 'qa', 'system:authenticated']);
    await withPod('by-assertion', async () => {
      const exec = await runAs(edge.origin, credentials, ['exec', 'by-assertion', '--', 'true']);
      assert.match(exec.stdout, /user: alice/, exec.stderr);
    });
  });

  test('a certificate of an authority that the cluster does not know is refused', async () => {
    const rogue = await createCertificateAuthority('demo-cluster-ca');
    const { certificate, privateKey } = await rogue.issue({
      commonName: 'kubernetes-admin',
      organizations: ['system:masters'],
      usage: 'client',
    });
    await writeFile(join(directory, 'rogue.crt'), certificate);
    await writeFile(join(directory, 'rogue.key'), privateKey, { mode: 0o600 });
    const result = await runAs(
      routerOrigin(),
      [
        `--client-certificate=${join(directory, 'rogue.crt')}`,
        `--client-key=${join(directory, 'rogue.key')}`,
      ],
      ['get', 'pods'],
    );
    assert.equal(result.code, 1);
    assert.match(result.stderr, /must be logged in|Unauthorized/);
  });

  test('a replayed assertion and one for another destination are refused, saying why', async () => {
    const key = signingKeyOf((await edgeKey).privateJwk);
    const target = '/api/v1/namespaces/default/pods';
    const sign = async (destinationId: string) => {
      const signer = createAssertionSigner({ issuer: edgeId, key });
      const user = { name: 'alice', uid: '', groups: [], extra: new Map() };
      return (await signer.sign({ user, destinationId, method: 'GET', target, rerouted: false })).text;
    };
    const [server] = running.demo.apiServers;
    const once = await sign(server?.serverId ?? '');
    assert.equal((await askRouter(target, once)).status, 200);
    const replayed = await askRouter(target, once);
    assert.equal(replayed.status, 401);
    assert.match(replayed.body, /"reason":"Unauthorized"/);
    assert.match(replayed.body, /has been used before/);
    const elsewhere = await askRouter(target, await sign('another-server'));
    assert.equal(elsewhere.status, 401);
    assert.match(elsewhere.body, /is meant for another destination/);
  });

  function askRouter(path: string, assertion: string): Promise<{ status: number | undefined; body: string }> {
    const ca = readFileSync(running.demo.certificates.clusterCa);
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${routerOrigin()}${path}`,
        { ca, headers: { 'mixed-version-proxy-identity': assertion } },
        async (response) => {
          let body = '';
          for await (const chunk of response) body += chunk;
          resolve({ status: response.statusCode, body });
        },
      );
      outgoing.once('error', reject);
      outgoing.end();
    });
  }
});
