import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import {
  heldStore,
  minute,
  noon,
  receiverWith,
  sealed,
} from '../../../test/support/snapshots/snapshot-receiver.ts';
import { createMemorySnapshotStore, type SnapshotStore } from './snapshot-store.ts';

test('a snapshot waits for no disk: each is in use at once, and the store gets the newest', async () => {
  const { kept, writes, store } = heldStore();
  const { receiver } = receiverWith({ store });
  const pushes = await Promise.all([4, 6, 5, 7].map((generation) => sealed(generation)));
  const results = Promise.allSettled(pushes.map((jws) => receiver.accept(jws)));
  await eventually(() => receiver.current()?.generation === 7);
  // The first is still being written.
  assert.deepEqual([writes.length, kept.length], [1, 0]);
  writes[0]?.resolve();
  await eventually(() => writes.length === 2);
  writes[1]?.resolve();
  await receiver.settled();
  assert.deepEqual(kept, [pushes[0], pushes[3]]);
  assert.deepEqual(
    (await results).map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  );
});

test('the response to a push says that it is stored only once it is', async () => {
  const { kept, writes, store } = heldStore();
  const { receiver } = receiverWith({ store });
  const jws = await sealed(3);
  const slow = await receiver.accept(jws);
  assert.deepEqual([slow.persisted, slow.persistenceError], [false, 'it is still being written']);
  assert.equal(receiver.current()?.generation, 3);
  const again = receiver.accept(jws);
  await eventually(() => writes.length === 1);
  writes[0]?.resolve();
  assert.equal((await again).persisted, true);
  assert.deepEqual([writes.length, kept.length], [1, 1]);
  assert.deepEqual(await store.load(), jws);
});

test('a store that cannot be written does not keep the router on old routes, and is tried again', async () => {
  let full = true;
  const memory = createMemorySnapshotStore();
  const store: SnapshotStore = {
    load: memory.load,
    save: async (stored) => {
      if (full) throw new Error('ENOSPC: no space left on device');
      await memory.save(stored);
    },
  };
  const { receiver } = receiverWith({ store });
  const jws = await sealed(3);
  const first = await receiver.accept(jws);
  assert.equal(first.result, 'accepted');
  assert.equal(first.persisted, false);
  assert.match(first.persistenceError ?? '', /ENOSPC/);
  assert.equal(receiver.current()?.generation, 3);
  assert.match(receiver.concerns()[0]?.details[0] ?? '', /could not be stored, .*ENOSPC/);

  assert.equal((await receiver.accept(jws)).persisted, false);
  full = false;
  assert.deepEqual(await receiver.accept(jws), {
    result: 'unchanged',
    generation: 3,
    createdAt: noon,
    persisted: true,
  });
  assert.deepEqual(await memory.load(), jws);
});

test('a restart begins with the last good snapshot, and refuses what is older', async () => {
  const { receiver, store } = receiverWith();
  await receiver.accept(await sealed(3));
  const restarted = receiverWith({ store }).receiver;
  await restarted.restore();
  assert.equal(restarted.current()?.generation, 3);
  await assert.rejects(restarted.accept(await sealed(2)), { code: 'NotNewer' });
});

test('an old snapshot is restored as well, with its age', async () => {
  const { receiver, store } = receiverWith();
  await receiver.accept(await sealed(3));
  const restarted = receiverWith({ store });
  restarted.clock.now = noon + 60 * minute;
  await restarted.receiver.restore();
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
    [createMemorySnapshotStore(jws.replace('\n', 'AAAA\n')), /signature/],
    [createMemorySnapshotStore(''), /not signed/],
    [unreadable, /EIO/],
  ] as const) {
    const { logger, lines } = recordingLogger();
    const { receiver } = receiverWith({ store, logger });
    await receiver.restore();
    assert.match(String(lines[0]?.fields['err']), message);
    assert.equal(receiver.current(), undefined);
    assert.equal((await receiver.accept(jws)).result, 'accepted');
  }
  const { logger, lines } = recordingLogger();
  await receiverWith({ logger }).receiver.restore();
  assert.deepEqual(lines, []);
});

test('a snapshot that was pushed before the restore is not replaced by the older stored one', async () => {
  const store = createMemorySnapshotStore(await sealed(3));
  const kept: SnapshotStore = { load: store.load, save: async () => {} };
  const { receiver } = receiverWith({ store: kept });
  await receiver.accept(await sealed(5));
  await receiver.restore();
  assert.equal(receiver.current()?.generation, 5);
});
