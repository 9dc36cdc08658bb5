import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  at,
  minute,
  next,
  noon,
  receiverWith,
  renewalOf,
  sealed,
} from '../../../test/support/snapshot-receiver.ts';
import { createMemorySnapshotStore } from './snapshot-store.ts';

test('a renewal makes the held snapshot young again, which survives a restart', async () => {
  const { receiver, store } = receiverWith();
  const jws = await sealed(3);
  await receiver.accept(jws);
  const before = receiver.current();
  const renewal = await renewalOf(jws, 3);
  assert.deepEqual(await receiver.renew(renewal), {
    result: 'renewed',
    generation: 3,
    createdAt: noon + minute,
    persisted: true,
  });
  const after = receiver.current();
  assert.equal(after?.createdAt, noon + minute);
  assert.equal(after?.resource('', 'v1', 'pods'), before?.resource('', 'v1', 'pods'));
  assert.deepEqual(await store.load(), { snapshot: jws, renewal });
  assert.equal((await receiver.renew(renewal)).result, 'unchanged');

  const restarted = receiverWith({ store }).receiver;
  assert.deepEqual(await restarted.restore(), {
    result: 'restored',
    generation: 3,
    createdAt: noon + minute,
  });
  // Sent again as a whole, the snapshot does not lose what the renewal gave it.
  assert.equal((await receiver.accept(jws)).createdAt, noon + minute);
});

test('a renewal holds for a snapshot that was signed anew, because it names the content', async () => {
  const { receiver } = receiverWith();
  await receiver.accept(await sealed(3));
  const resealed = await sealed(3, ['v1/pods'], {}, next);
  assert.equal((await receiver.renew(await renewalOf(resealed, 3))).result, 'renewed');
});

test('a renewal of anything but exactly what is held is refused', async () => {
  const { receiver, clock } = receiverWith();
  const jws = await sealed(3);
  await assert.rejects(receiver.renew(await renewalOf(jws, 3)), {
    code: 'NotNewer',
    message: /no snapshot is held/,
  });
  await receiver.accept(jws);
  const table = receiver.current();
  const other = await sealed(3, ['batch/v1/jobs']);
  clock.now = noon + minute;
  for (const [renewal, code] of [
    [await renewalOf(jws, 4), 'NotNewer'],
    [await renewalOf(other, 3), 'NotNewer'],
    [await renewalOf(jws, 3, { createdAt: at(noon - minute) }), 'NotNewer'],
    [await renewalOf(jws, 3, { createdAt: at(noon + 10 * minute) }), 'Invalid'],
    [jws, 'BadSignature'],
    ['', 'Unsigned'],
  ] as const) {
    await assert.rejects(receiver.renew(renewal), { code });
  }
  assert.equal(receiver.current(), table);
});

test('an old renewal played back revives nothing', async () => {
  const { receiver, clock } = receiverWith();
  const jws = await sealed(3);
  await receiver.accept(jws);
  const first = await renewalOf(jws, 3);
  await receiver.renew(first);
  clock.now = noon + 2 * minute;
  await receiver.renew(await renewalOf(jws, 3, { createdAt: at(noon + 2 * minute) }));
  await assert.rejects(receiver.renew(first), { code: 'NotNewer' });
  assert.equal(receiver.current()?.createdAt, noon + 2 * minute);
});

test('a newer snapshot leaves the renewal of the old one behind', async () => {
  const { receiver, store } = receiverWith();
  const jws = await sealed(3);
  await receiver.accept(jws);
  await receiver.renew(await renewalOf(jws, 3));
  const newer = await sealed(4);
  await receiver.accept(newer);
  assert.deepEqual(await store.load(), { snapshot: newer });
  assert.equal(receiver.current()?.createdAt, noon);
});

test('a stored renewal that cannot be used costs the renewal, not the snapshot', async () => {
  const jws = await sealed(3);
  const foreign = await renewalOf(await sealed(4), 4);
  for (const renewal of ['garbage', foreign]) {
    const { receiver } = receiverWith({ store: createMemorySnapshotStore({ snapshot: jws, renewal }) });
    assert.deepEqual(await receiver.restore(), {
      result: 'restored',
      generation: 3,
      createdAt: noon,
    });
    assert.deepEqual(receiver.sealed(), { snapshot: jws });
  }
});
