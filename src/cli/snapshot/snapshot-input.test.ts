import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { commandContext } from '../../../test/support/commands/command-context.ts';
import type { ServedSet } from '../../snapshot/format/schema.ts';
import { servedSetKey } from '../../snapshot/format/served-set-key.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../snapshot/signing/seal.ts';
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
  files.set('keys.json', JSON.stringify({ keys: [generated.publicJwk] }));
  files.set('stored', `${sealed}\n`);
  // Another last character but one of the signature.
  files.set('forged', `${sealed.replace(/.(?=.\n)/, (last) => (last === 'A' ? 'B' : 'A'))}\n`);
});

describe('a stored snapshot', () => {
  it('has a signature that is checked where there are keys', async () => {
    const { table, notes } = await readSnapshotInput(context, '--snapshot', 'stored', 'keys.json');
    assert.equal(table.createdAt, Date.parse('2026-01-01T00:00:00Z'));
    assert.match(notes.join('\n'), /is signed with key/);
    const unchecked = await readSnapshotInput(context, '--snapshot', 'stored', undefined);
    assert.match(unchecked.notes.join('\n'), /signature of the snapshot was not checked/);
    await assert.rejects(readSnapshotInput(context, '--snapshot', 'forged', 'keys.json'), CommandFailure);
  });
});
