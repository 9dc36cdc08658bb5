import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect, createServer } from 'node:tls';
import { parse } from 'yaml';
import {
  type CertificatePaths,
  createDemoCertificates,
  type DemoCertificates,
} from '../../demo/certificates.ts';
import { writeKubeconfig } from '../../demo/kubeconfig.ts';

const load = async (path: string) => new X509Certificate(await readFile(path));

describe('the certificates of the demo', () => {
  let directory: string;
  let made: DemoCertificates;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'demo-certificates-'));
    made = await createDemoCertificates(directory);
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const pairs = (): CertificatePaths[] => [
    made.apiServer,
    made.router,
    made.frontProxyClient,
    made.admin,
    made.alice,
    made.sync,
  ];

  it('come with keys that belong to them and that only their owner can read', async () => {
    for (const { certificate, privateKey } of pairs()) {
      const key = createPrivateKey(await readFile(privateKey));
      assert.ok((await load(certificate)).checkPrivateKey(key), certificate);
      assert.equal((await stat(privateKey)).mode & 0o777, 0o600, privateKey);
    }
  });

  it('are signed by the cluster CA, the front proxy by a CA of its own', async () => {
    const clusterCa = await load(made.clusterCa);
    const frontProxyCa = await load(made.frontProxyCa);
    for (const { certificate } of [made.apiServer, made.router, made.admin, made.alice, made.sync]) {
      assert.ok((await load(certificate)).verify(clusterCa.publicKey), certificate);
    }
    const frontProxy = await load(made.frontProxyClient.certificate);
    assert.ok(frontProxy.verify(frontProxyCa.publicKey));
    assert.equal(frontProxy.verify(clusterCa.publicKey), false);
    assert.ok(!clusterCa.publicKey.equals(frontProxyCa.publicKey));
  });

  it('hold user and groups as Kubernetes reads them', async () => {
    assert.equal((await load(made.alice.certificate)).subject, 'O=dev\nO=qa\nCN=alice');
    assert.equal((await load(made.admin.certificate)).subject, 'O=system:masters\nCN=kubernetes-admin');
    assert.equal((await load(made.sync.certificate)).subject, 'CN=mixed-version-proxy-sync');
  });

  it('serve under the name that peers check and on loopback addresses', async () => {
    for (const { certificate } of [made.apiServer, made.router]) {
      const serving = await load(certificate);
      assert.ok(serving.checkHost('kubernetes.default.svc'));
      assert.ok(serving.checkHost('localhost'));
      assert.ok(serving.checkIP('127.0.0.1'));
      assert.ok(serving.checkIP('::1'));
    }
  });

  it('hold in a mutual TLS handshake', async () => {
    const server = createServer(
      {
        cert: await readFile(made.apiServer.certificate),
        key: await readFile(made.apiServer.privateKey),
        ca: await readFile(made.frontProxyCa),
        requestCert: true,
        rejectUnauthorized: true,
      },
      (socket) => socket.end(String(socket.getPeerCertificate().subject.CN)),
    );
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve());
    });
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const client = connect({
      port: address.port,
      host: '127.0.0.1',
      servername: 'kubernetes.default.svc',
      ca: await readFile(made.clusterCa),
      cert: await readFile(made.frontProxyClient.certificate),
      key: await readFile(made.frontProxyClient.privateKey),
    });
    let greeting = '';
    for await (const chunk of client) greeting += chunk;
    server.close();
    assert.equal(greeting, 'front-proxy-client');
  });

  it('are replaced when made again, keys still private', async () => {
    const again = await mkdtemp(join(tmpdir(), 'demo-certificates-'));
    try {
      const first = await createDemoCertificates(again);
      const before = await readFile(first.admin.privateKey, 'utf8');
      const second = await createDemoCertificates(again);
      assert.notEqual(await readFile(second.admin.privateKey, 'utf8'), before);
      assert.equal((await stat(second.admin.privateKey)).mode & 0o777, 0o600);
    } finally {
      await rm(again, { recursive: true, force: true });
    }
  });

  it('make a kubeconfig that needs no other file', async () => {
    const path = await writeKubeconfig(join(directory, 'kubeconfig'), {
      servers: { router: 'https://127.0.0.1:6443', direct: 'https://127.0.0.1:6444' },
      certificateAuthority: made.clusterCa,
      users: { admin: made.admin, alice: made.alice },
    });
    const config = parse(await readFile(path, 'utf8'));
    assert.equal(config['current-context'], 'router');
    assert.deepEqual(
      config.contexts.map(({ name, context }: { name: string; context: object }) => [name, context]),
      [
        ['router', { cluster: 'router', user: 'admin' }],
        ['direct', { cluster: 'direct', user: 'admin' }],
        ['alice@router', { cluster: 'router', user: 'alice' }],
        ['alice@direct', { cluster: 'direct', user: 'alice' }],
      ],
    );
    assert.equal(config.clusters[1].cluster.server, 'https://127.0.0.1:6444');
    const decoded = Buffer.from(config.users[1].user['client-certificate-data'], 'base64');
    assert.equal(new X509Certificate(decoded).subject, 'O=dev\nO=qa\nCN=alice');
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  });
});
