import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { commandContext } from '../../../test/support/command-context.ts';
import type { ServedSet } from '../../snapshot/format/schema.ts';
import { servedSetKey } from '../../snapshot/format/served-set-key.ts';
import { sealedDigest } from '../../snapshot/signing/open-sealed.ts';
import { generateSigningKey, sealRenewal, sealSnapshot, signingKeyOf } from '../../snapshot/signing/seal.ts';
import { CommandFailure } from '../terminal/command-context.ts';
import { readSnapshotInput } from './snapshot-input.ts';

const files = new Map<string, string>();
const { context } = commandContext(files);

before(async () => {
  const set: ServedSet = { storageVersions: { 'core.pods': ['v1'] } };
  const setKey = await servedSetKey(set);
  const generated = await generateSigningKey('EdDSA');
  const key = signingKeyOf(generated.privateJwk);
  const sealed = await sealSnapshot(
    {
      apiVersion: 'mixed-version-proxy/v1alpha1',
      kind: 'StorageVersionSnapshot',
      metadata: {
        generation: 7,
        createdAt: '2026-01-01T00:00:00Z',
        source: 'discovery',
      },
      servers: [{ id: 'cp-a', address: '10.0.0.1:6443', serves: setKey }],
      servedSets: { [setKey]: set },
      apiServices: [],
      customResourceGroups: [],
    },
    key,
  );
  const renewal = { generation: 7, createdAt: '2026-02-01T00:00:00Z' };
  const digest = await sealedDigest(sealed);
  const other = `sha256:${'0'.repeat(64)}`;
  files.set('keys.json', JSON.stringify({ keys: [generated.publicJwk] }));
  files.set('stored', `${sealed}\n${await sealRenewal({ ...renewal, digest }, key)}\n`);
  files.set('mixed-up', `${sealed}\n${await sealRenewal({ ...renewal, digest: other }, key)}\n`);
  files.set('forged', `${sealed}\n${sealed}\n`);
});

describe('a stored snapshot', () => {
  it('is as old as its renewal says', async () => {
    const { table, notes } = await readSnapshotInput(context, '--snapshot', 'stored', 'keys.json');
    assert.equal(table.createdAt, Date.parse('2026-02-01T00:00:00Z'));
    assert.match(notes.join('\n'), /renewed at 2026-02-01T00:00:00Z/);
  });

  it('is not renewed without a check of the signature, by the renewal of another, or by what is none', async () => {
    const own = Date.parse('2026-01-01T00:00:00Z');
    const unchecked = await readSnapshotInput(context, '--snapshot', 'stored', undefined);
    assert.equal(unchecked.table.createdAt, own);
    assert.match(unchecked.notes.join('\n'), /renewal was not looked at/);
    const mixedUp = await readSnapshotInput(context, '--snapshot', 'mixed-up', 'keys.json');
    assert.equal(mixedUp.table.createdAt, own);
    assert.match(mixedUp.notes.join('\n'), /of another snapshot/);
    await assert.rejects(readSnapshotInput(context, '--snapshot', 'forged', 'keys.json'), CommandFailure);
  });
});
