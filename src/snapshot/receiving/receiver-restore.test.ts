import assert from 'node:assert/strict';
import { test } from 'node:test';
import { minute, noon, receiverWith, sealed } from '../../../test/support/snapshot-receiver.ts';
import { createMemorySnapshotStore, type SnapshotStore } from './snapshot-store.ts';

test('a restart begins with the last good snapshot, and refuses what is older', async () => {
  const { receiver, store } = receiverWith();
  await receiver.accept(await sealed(3));
  const restarted = receiverWith({ store }).receiver;
  assert.deepEqual(await restarted.restore(), {
    result: 'restored',
    generation: 3,
    createdAt: noon,
  });
  assert.equal(restarted.current()?.generation, 3);
  await assert.rejects(restarted.accept(await sealed(2)), { code: 'NotNewer' });
});

test('an old snapshot is restored as well, with its age', async () => {
  const { receiver, store } = receiverWith();
  await receiver.accept(await sealed(3));
  const restarted = receiverWith({ store });
  restarted.clock.now = noon + 60 * minute;
  assert.equal((await restarted.receiver.restore()).result, 'restored');
  assert.equal(restarted.receiver.current()?.createdAt, noon);
});

test('nothing that was tampered with is restored, and the router starts without it', async () => {
  const jws = await sealed(3);
  const unreadable: SnapshotStore = {
    load: async () => {
      throw new Error('EIO: i/o error');
    },
    save: async () => {},
  };
  for (const [store, message] of [
    [createMemorySnapshotStore({ snapshot: `${jws.slice(0, -4)}AAAA` }), /signature/],
    [createMemorySnapshotStore({ snapshot: '' }), /not signed/],
    [unreadable, /EIO/],
  ] as const) {
    const { receiver } = receiverWith({ store });
    const restored = await receiver.restore();
    assert.ok(restored.result === 'refused');
    assert.match(restored.error.message, message);
    assert.equal(receiver.current(), undefined);
    assert.equal((await receiver.accept(jws)).result, 'accepted');
  }
  assert.deepEqual(await receiverWith().receiver.restore(), { result: 'empty' });
});

test('a snapshot that was pushed before the restore is not replaced by the older stored one', async () => {
  const store = createMemorySnapshotStore({ snapshot: await sealed(3) });
  const kept: SnapshotStore = { load: store.load, save: async () => {} };
  const { receiver } = receiverWith({ store: kept });
  await receiver.accept(await sealed(5));
  assert.equal((await receiver.restore()).result, 'refused');
  assert.equal(receiver.current()?.generation, 5);
});
