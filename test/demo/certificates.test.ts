import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type CertificatePaths,
  createDemoCertificates,
  type DemoCertificates,
} from '../../demo/certificates.ts';

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
});
