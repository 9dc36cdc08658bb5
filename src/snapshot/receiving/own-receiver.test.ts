import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import {
  at,
  heldStore,
  minute,
  noon,
  old,
  ownReceiverWith,
  receiverWith,
} from '../../../test/support/snapshots/snapshot-receiver.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../signing/seal.ts';
import { createMemorySnapshotStore } from './snapshot-store.ts';

function generation(number: number, createdAt = at(noon), cluster = 'one') {
  return snapshotOf({ a: ['v1/pods'] }, { generation: number, createdAt, cluster });
}

describe('the receiver of a router that reads the cluster itself', () => {
  it('takes a rising generation, and no other content under the same one', async () => {
    const { receiver } = ownReceiverWith();
    assert.equal((await receiver.acceptOwn(generation(1))).result, 'accepted');
    assert.equal((await receiver.acceptOwn(generation(2))).result, 'accepted');
    await assert.rejects(receiver.acceptOwn(generation(2, at(noon), 'two')), { code: 'NotNewer' });
    await assert.rejects(receiver.acceptOwn(generation(1)), { code: 'NotNewer' });
    assert.equal(receiver.current()?.generation, 2);
  });

  it('renews the same content by its later time, and none by an earlier one', async () => {
    const { receiver, clock } = ownReceiverWith();
    await receiver.acceptOwn(generation(1));
    const before = receiver.current()?.createdAt ?? 0;
    clock.now = noon + minute;
    assert.equal((await receiver.acceptOwn(generation(1, at(noon + minute)))).result, 'renewed');
    assert.equal(receiver.current()?.createdAt, before + minute);
    assert.equal((await receiver.acceptOwn(generation(1, at(noon + minute)))).result, 'unchanged');
    await assert.rejects(receiver.acceptOwn(generation(1)), { code: 'NotNewer' });
  });

  it('leaves out an address that the policy refuses, and goes on', async () => {
    const { receiver } = ownReceiverWith();
    const good = generation(1);
    const [server = assert.fail()] = good.servers;
    const loopback = { ...good, servers: [{ ...server, address: '127.0.0.1:6443' }] };
    assert.equal((await receiver.acceptOwn(loopback)).result, 'accepted');
    assert.equal(receiver.current()?.servers[0]?.origin, undefined);
    assert.equal(receiver.refusedAddresses[0]?.id, server.id);
  });

  it('refuses what a pushed snapshot would be refused for: a time in the future, content', async () => {
    const { receiver } = ownReceiverWith();
    const good = generation(1);
    await assert.rejects(receiver.acceptOwn(generation(1, at(noon + 60 * minute))), { code: 'Invalid' });
    await assert.rejects(receiver.acceptOwn({ ...good, servers: [] }), { code: 'Invalid' });
    assert.equal(receiver.current(), undefined);
  });

  it('takes nothing that is pushed, signed with a pinned key or not at all', async () => {
    const { receiver } = ownReceiverWith();
    const jws = await sealSnapshot(generation(1), signingKeyOf(old.privateJwk));
    await assert.rejects(receiver.accept(jws), { code: 'ReadsClusterItself' });
    await assert.rejects(receiver.accept(JSON.stringify(generation(1))), { code: 'ReadsClusterItself' });
    assert.equal(receiver.current(), undefined);
  });

  it('goes on from what it stored, with the last renewal, and not from what was pushed before', async () => {
    const store = createMemorySnapshotStore();
    const first = ownReceiverWith({ store });
    await first.receiver.acceptOwn(generation(1));
    first.clock.now = noon + minute;
    await first.receiver.acceptOwn(generation(1, at(noon + minute)));
    await first.receiver.settled();
    const second = ownReceiverWith({ store });
    await second.receiver.restore();
    assert.equal(second.receiver.current()?.createdAt, noon + minute);
    await assert.rejects(second.receiver.acceptOwn(generation(1, at(noon), 'two')), { code: 'NotNewer' });

    const signed = await sealSnapshot(
      generation(7),
      signingKeyOf((await generateSigningKey('ES256')).privateJwk),
    );
    const { logger, lines } = recordingLogger();
    const third = ownReceiverWith({ store: createMemorySnapshotStore(signed), logger });
    await third.receiver.restore();
    assert.match(String(lines[0]?.fields['err']), /is a signed one/);
  });

  it('is the only one that takes unsigned snapshots: one that is pushed to refuses what it stored', async () => {
    const store = createMemorySnapshotStore();
    const own = ownReceiverWith({ store }).receiver;
    await own.acceptOwn(generation(1));
    await own.settled();
    const { receiver } = receiverWith({ store });
    await receiver.restore();
    assert.equal(receiver.current(), undefined);
  });

  it('waits with no reading for the disk of the one before', async () => {
    const { writes, store } = heldStore();
    const { receiver } = ownReceiverWith({ store });
    await receiver.acceptOwn(generation(1));
    await receiver.acceptOwn(generation(2));
    assert.equal(receiver.current()?.generation, 2);
    await eventually(() => writes.length === 1);
    writes[0]?.resolve();
    await eventually(() => writes.length === 2);
    writes[1]?.resolve();
    await receiver.settled();
    const restarted = ownReceiverWith({ store: createMemorySnapshotStore(await store.load()) }).receiver;
    await restarted.restore();
    assert.equal(restarted.current()?.generation, 2);
  });
});
