import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { type PinnedKeySet, parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../snapshot/signing/seal.ts';
import { previousSnapshot } from './targets.ts';

const old = await generateSigningKey('EdDSA');
const next = await generateSigningKey('EdDSA');
const { signal } = new AbortController();

async function pinned(...keys: readonly object[]): Promise<PinnedKeySet> {
  const parsed = await parseSnapshotKeys(JSON.stringify({ keys }));
  assert.ok(parsed.ok);
  return parsed.keys;
}

async function holder(name: string, generation: number, key = old) {
  const jws = await sealSnapshot(
    snapshotOf({ [name]: ['v1/pods'] }, { generation }),
    signingKeyOf(key.privateJwk),
  );
  return { name, held: async () => jws };
}

const failing = {
  name: 'failing',
  held: () => Promise.reject(new Error('connection refused')),
};

test('the newest snapshot of the targets is used; one that fails, or cannot say what it holds, is skipped', async () => {
  const sources = {
    holders: [
      failing,
      await holder('a', 5),
      { name: 'empty', held: async () => undefined },
      { name: 'silent' },
      await holder('b', 4),
    ],
    keys: await pinned(old.publicJwk),
    logger: silentLogger,
  };
  assert.equal((await previousSnapshot(sources, signal))?.metadata.generation, 5);
});

test('in a rotation the new key continues a snapshot of the old one, if that is still trusted', async () => {
  const holders = [await holder('a', 5, old)];
  const rest = { holders, logger: silentLogger };
  const both = { ...rest, keys: await pinned(next.publicJwk, old.publicJwk) };
  assert.equal((await previousSnapshot(both, signal))?.metadata.generation, 5);
  const warnings: unknown[] = [];
  const onlyNext = {
    ...rest,
    keys: await pinned(next.publicJwk),
    logger: { ...silentLogger, warn: (fields: object) => warnings.push(fields) },
  };
  assert.equal(await previousSnapshot(onlyNext, signal), undefined);
  assert.equal(warnings.length, 1);
});

test('a first start, with routers that are not up yet, is warned of no earlier run', async () => {
  const said: string[] = [];
  const logger = {
    ...silentLogger,
    info: () => said.push('info'),
    warn: (_fields: object, message: string) => said.push(message),
  };
  const sources = {
    holders: [failing],
    keys: await pinned(old.publicJwk),
  };
  assert.equal(await previousSnapshot({ ...sources, logger }, signal), undefined);
  assert.deepEqual(said, ['info']);
});
