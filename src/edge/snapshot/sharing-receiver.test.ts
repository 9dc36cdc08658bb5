import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, keys, minute, noon, sealed } from '../../../test/support/snapshots/snapshot-receiver.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { StoreChangedError } from '../../snapshot/receiving/snapshot-store.ts';
import {
  type SharedSnapshotStore,
  SharingReceiver,
  type SharingReceiverOptions,
} from './snapshot-keeping.ts';

/** The store that receivers share. Writing over a version that one does not know fails, as with a Durable Object. */
function sharedPlace() {
  const place: { stored: string | undefined; version: number; away: boolean } = {
    stored: undefined,
    version: 0,
    away: false,
  };
  const open = (): SharedSnapshotStore => {
    let known = '0';
    return {
      async changed() {
        if (place.away) throw new Error('away');
        return known === String(place.version)
          ? undefined
          : { tag: String(place.version), stored: place.stored };
      },
      takeNoteOf(tag) {
        known = tag;
      },
      load: async () => place.stored,
      async save(stored) {
        if (place.away) throw new Error('away');
        if (known !== String(place.version)) throw new StoreChangedError();
        place.stored = stored;
        place.version++;
        known = String(place.version);
      },
    };
  };
  return { place, open };
}

function receiverOn(store: SharedSnapshotStore, told: Partial<Omit<SharingReceiverOptions, 'store'>> = {}) {
  return new SharingReceiver({
    keys: () => keys,
    addressPolicy: createAddressPolicy(),
    store,
    now: () => noon + 2 * minute,
    ...told,
  });
}

test('an older push to a receiver that knows nothing yet is refused', async () => {
  const { open } = sharedPlace();
  await receiverOn(open()).accept(await sealed(3));
  const other = receiverOn(open());
  await assert.rejects(other.accept(await sealed(2)), { code: 'NotNewer' });
  assert.equal(other.current()?.generation, 3);
});

test('of two pushes at once the older one never ends up in the store, whichever writes first', async () => {
  for (const [first, second] of [
    [4, 5],
    [5, 4],
  ] as const) {
    const { place, open } = sharedPlace();
    const one = receiverOn(open());
    const two = receiverOn(open());
    await Promise.allSettled([one.accept(await sealed(first)), two.accept(await sealed(second))]);
    const reader = receiverOn(open());
    await reader.catchUp();
    assert.equal(reader.current()?.generation, 5);
    assert.ok(place.version >= 1);
  }
});

test('a renewal that another receiver has taken counts here too, and a stored older one does not', async () => {
  const { place, open } = sharedPlace();
  const jws = await sealed(3);
  const one = receiverOn(open());
  const two = receiverOn(open());
  await one.accept(jws);
  await two.catchUp();
  await one.accept(await sealed(3, ['v1/pods'], { createdAt: at(noon + minute) }));
  await two.catchUp();
  assert.equal(two.current()?.createdAt, noon + minute);
  place.stored = jws;
  place.version++;
  await two.catchUp();
  assert.equal(two.current()?.createdAt, noon + minute);
});

test('what was tampered with in the store is not used, and can be replaced by a push', async () => {
  const { place, open } = sharedPlace();
  const jws = await sealed(3);
  place.stored = `${jws.slice(0, -6)}AAAAAA`;
  place.version = 1;
  const receiver = receiverOn(open());
  await receiver.catchUp();
  assert.equal(receiver.current(), undefined);
  const { result, persisted } = await receiver.accept(jws);
  assert.deepEqual([result, persisted], ['accepted', true]);
  assert.equal(place.stored, jws);
});

test('an isolate of the same program takes over what another has checked; one of another program checks it', async () => {
  const { place, open } = sharedPlace();
  const jws = await sealed(3);
  await receiverOn(open(), { program: 'one' }).accept(jws);
  assert.match(String(place.stored), /"checkedBy":"one"/);
  for (const program of ['one', 'another', undefined]) {
    const receiver = receiverOn(open(), { program });
    await receiver.catchUp();
    assert.deepEqual([receiver.current()?.generation, await receiver.sealed()], [3, jws], String(program));
    assert.equal(receiver.current()?.resource('', 'v1', 'pods')?.servers.length, 1);
  }
  await receiverOn(open(), { program: 'another' }).accept(
    await sealed(3, ['v1/pods'], { createdAt: at(noon + minute) }),
  );
  assert.match(String(place.stored), /"checkedBy":"another"/);
});

test('what was tampered with behind the signature is not used, whoever says to have checked it', async () => {
  const { place, open } = sharedPlace();
  await receiverOn(open(), { program: 'one' }).accept(await sealed(3));
  place.stored = place.stored?.replace('core.pods', 'core.pots');
  for (const program of ['one', 'another']) {
    const receiver = receiverOn(open(), { program });
    await receiver.catchUp();
    assert.equal(receiver.current(), undefined, program);
  }
});

test('while the store is away a push counts in its receiver, and the response says that it was not kept', async () => {
  const { place, open } = sharedPlace();
  place.away = true;
  const receiver = receiverOn(open());
  const { result, persisted } = await receiver.accept(await sealed(3));
  assert.deepEqual([result, persisted], ['accepted', false]);
  assert.equal(receiver.current()?.generation, 3);
});

for (const [interruptions, ending] of [
  [2, 'accepted'],
  [99, 'NotNewer'],
] as const) {
  test(`a push that others come before ${interruptions} times is told of once, as ${ending}`, async () => {
    const store = sharedPlace().open();
    let left: number = interruptions;
    const interrupted: SharedSnapshotStore = {
      ...store,
      async save(stored) {
        if (left-- > 0) throw new StoreChangedError();
        await store.save(stored);
      },
    };
    const pushes: string[] = [];
    const warnings: string[] = [];
    const receiver = receiverOn(interrupted, {
      onPush: (result) => pushes.push(result),
      logger: { ...silentLogger, warn: (_fields, message) => warnings.push(message) },
    });
    await receiver.accept(await sealed(3)).catch((error) => assert.equal(error.code, ending));
    assert.deepEqual(pushes, [ending]);
    assert.equal(warnings.length, ending === 'accepted' ? 0 : 1);
  });
}

test('what is held counts as confirmed since the look began that found nothing newer, and not by one that failed', async () => {
  const { place, open } = sharedPlace();
  let now = 100;
  const store = open();
  const receiver = receiverOn(
    {
      ...store,
      async changed() {
        now += 50;
        return store.changed();
      },
    },
    { monotonicClock: () => now },
  );
  assert.equal(receiver.confirmedAt(), undefined);
  await receiver.catchUp();
  assert.equal(receiver.confirmedAt(), 100);
  place.away = true;
  await assert.rejects(receiver.catchUp());
  assert.equal(receiver.confirmedAt(), 100);
  place.away = false;
  await receiver.accept(await sealed(3));
  assert.equal(receiver.confirmedAt(), 200);
});
