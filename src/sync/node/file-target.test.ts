import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { generateSigningKey, signingKeyOf } from '../../snapshot/signing/seal.ts';
import { renewDelivery, sealDelivery } from '../deliver.ts';
import { fileTarget } from './targets.ts';

const snapshot = snapshotOf({ a: ['v1/pods'] });
const { signal } = new AbortController();

async function temporaryFolder(context: TestContext): Promise<string> {
  const folder = await temporaryDirectory(context);
  return folder;
}

test('writes the sealed snapshot and its renewal, in the form that routers store', async (context) => {
  const folder = await temporaryFolder(context);
  const key = signingKeyOf((await generateSigningKey('ES256')).privateJwk);
  const file = join(folder, 'snapshot.jws');
  const target = fileTarget({ file });
  const delivery = await sealDelivery(snapshot, key);
  assert.deepEqual(await target.put(delivery, signal), { kind: 'accepted' });
  assert.equal(await readFile(file, 'utf8'), `${delivery.sealed?.snapshot}\n`);
  const renewed = await renewDelivery(delivery, key, Date.now());
  await target.put(renewed, signal);
  assert.equal(await readFile(file, 'utf8'), `${renewed.sealed?.snapshot}\n${renewed.sealed?.renewal}\n`);
});

test('writes plain JSON only on request, readable by its owner only, and leaves no other file', async (context) => {
  const folder = await temporaryFolder(context);
  const file = join(folder, 'snapshot.json');
  const unsigned = await sealDelivery(snapshot, undefined);
  const refused = await fileTarget({ file }).put(unsigned, signal);
  assert.equal(refused.kind, 'refused');
  assert.deepEqual(await fileTarget({ file, unsigned: true }).put(unsigned, signal), { kind: 'accepted' });
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), JSON.parse(JSON.stringify(snapshot)));
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(folder), ['snapshot.json']);
});

test('a file that cannot be written is a result, not an exception', async (context) => {
  const file = join(await temporaryFolder(context), 'missing', 'snapshot.json');
  const result = await fileTarget({ file, unsigned: true }).put(
    await sealDelivery(snapshot, undefined),
    signal,
  );
  assert.equal(result.kind, 'unreachable');
});
