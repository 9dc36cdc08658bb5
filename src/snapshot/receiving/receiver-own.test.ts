import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { at, minute, noon, old, receiverWith } from '../../../test/support/snapshot-receiver.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../signing/seal.ts';
import { createMemorySnapshotStore } from './snapshot-store.ts';

const own = { readsClusterItself: true } as const;

function generation(number: number, createdAt = at(noon), cluster = 'one') {
  return snapshotOf({ a: ['v1/pods'] }, { generation: number, createdAt, cluster });
}

describe('the receiver of a router that reads the cluster itself', () => {
  it('takes a rising generation, and no other content under the same one', async () => {
    const { receiver } = receiverWith(own);
    assert.equal((await receiver.acceptOwn(generation(1))).result, 'accepted');
    assert.equal((await receiver.acceptOwn(generation(2))).result, 'accepted');
    await assert.rejects(receiver.acceptOwn(generation(2, at(noon), 'two')), { code: 'NotNewer' });
    await assert.rejects(receiver.acceptOwn(generation(1)), { code: 'NotNewer' });
    assert.equal(receiver.current()?.generation, 2);
  });

  it('renews the same content by its later time, and none by an earlier one', async () => {
    const { receiver, clock } = receiverWith(own);
    await receiver.acceptOwn(generation(1));
    const before = receiver.current()?.createdAt ?? 0;
    clock.now = noon + minute;
    assert.equal((await receiver.acceptOwn(generation(1, at(noon + minute)))).result, 'renewed');
    assert.equal(receiver.current()?.createdAt, before + minute);
    assert.equal((await receiver.acceptOwn(generation(1, at(noon + minute)))).result, 'unchanged');
    await assert.rejects(receiver.acceptOwn(generation(1)), { code: 'NotNewer' });
  });

  it('refuses what a pushed snapshot would be refused for: addresses, a time in the future, content', async () => {
    const { receiver } = receiverWith(own);
    const good = generation(1);
    const [server = assert.fail()] = good.servers;
    const loopback = { ...good, servers: [{ ...server, address: '127.0.0.1:6443' }] };
    await assert.rejects(receiver.acceptOwn(loopback), { code: 'Invalid' });
    await assert.rejects(receiver.acceptOwn(generation(1, at(noon + 60 * minute))), { code: 'Invalid' });
    await assert.rejects(receiver.acceptOwn({ ...good, servers: [] }), { code: 'Invalid' });
    assert.equal(receiver.current(), undefined);
  });

  it('takes nothing that is pushed, signed with a pinned key or not at all', async () => {
    const { receiver } = receiverWith(own);
    const jws = await sealSnapshot(generation(1), signingKeyOf(old.privateJwk));
    await assert.rejects(receiver.accept(jws), { code: 'ReadsClusterItself' });
    await assert.rejects(receiver.accept(JSON.stringify(generation(1))), { code: 'ReadsClusterItself' });
    await assert.rejects(receiver.renew(jws), { code: 'ReadsClusterItself' });
    assert.equal(receiver.current(), undefined);
  });

  it('goes on from what it stored, with the last renewal, and not from what was pushed before', async () => {
    const store = createMemorySnapshotStore();
    const first = receiverWith({ ...own, store });
    await first.receiver.acceptOwn(generation(1));
    first.clock.now = noon + minute;
    await first.receiver.acceptOwn(generation(1, at(noon + minute)));
    const second = receiverWith({ ...own, store });
    assert.equal((await second.receiver.restore()).result, 'restored');
    assert.equal(second.receiver.current()?.createdAt, noon + minute);
    await assert.rejects(second.receiver.acceptOwn(generation(1, at(noon), 'two')), { code: 'NotNewer' });

    const signed = await sealSnapshot(
      generation(7),
      signingKeyOf((await generateSigningKey('ES256')).privateJwk),
    );
    const third = receiverWith({ ...own, store: createMemorySnapshotStore({ snapshot: signed }) });
    const restored = await third.receiver.restore();
    assert.match(restored.result === 'refused' ? restored.error.message : '', /is a signed one/);
  });

  it('is the only one that takes unsigned snapshots: one that is pushed to refuses them, stored or handed over', async () => {
    const store = createMemorySnapshotStore();
    await receiverWith({ ...own, store }).receiver.acceptOwn(generation(1));
    const { receiver } = receiverWith({ store });
    assert.throws(() => receiver.acceptOwn(generation(2)), TypeError);
    assert.equal((await receiver.restore()).result, 'refused');
    assert.equal(receiver.current(), undefined);
  });
});
