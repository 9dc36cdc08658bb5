import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  at,
  keys,
  minute,
  noon,
  receiverWith,
  sealed,
} from '../../../test/support/snapshots/snapshot-receiver.ts';
import { openSnapshot } from '../signing/open-sealed.ts';
import { entityTagOf, getSnapshot, parseEntityTag, sealedMediaType } from './snapshot-endpoint.ts';

test('the tag of a sealed snapshot tells content and lifetime, and changes with a renewal', async () => {
  const { receiver, clock } = receiverWith();
  const jws = await sealed(1);
  await receiver.accept(jws);
  const { digest } = await openSnapshot(jws, keys);
  const tag = async () => (await getSnapshot(sealedMediaType, receiver)).headers.get('etag') ?? '';
  assert.deepEqual(parseEntityTag(await tag()), { digest, createdAt: noon });
  clock.now = noon + 2 * minute;
  await receiver.accept(await sealed(1, ['v1/pods'], { createdAt: at(noon + minute) }));
  assert.deepEqual(parseEntityTag(await tag()), { digest, createdAt: noon + minute });
  // The opened snapshot is another representation: it must not carry the same tag.
  assert.equal((await getSnapshot(undefined, receiver)).headers.get('etag'), null);
});

test('a tag is read back as it was written, also weakened by what stands in between', () => {
  const held = { digest: `sha256:${'a'.repeat(64)}`, createdAt: noon };
  assert.deepEqual(parseEntityTag(entityTagOf(held)), held);
  assert.deepEqual(parseEntityTag(`W/${entityTagOf(held)}`), held);
  for (const other of ['', '""', '"sha256:0.1"', entityTagOf(held).slice(1), `${entityTagOf(held)}x`]) {
    assert.equal(parseEntityTag(other), undefined, other);
  }
});
