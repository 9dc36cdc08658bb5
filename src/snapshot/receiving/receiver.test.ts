import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import {
  at,
  minute,
  next,
  noon,
  old,
  pinned,
  receiverWith,
  sealed,
} from '../../../test/support/snapshots/snapshot-receiver.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { createAddressPolicy } from '../addresses/address-policy.ts';
import { setsText } from '../format/packed-snapshot.ts';
import { SnapshotError } from '../format/snapshot-error.ts';
import type { RoutingTable } from '../routing-table/routing-table.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../signing/seal.ts';
import { SnapshotReceiver } from './receiver.ts';
import { createMemorySnapshotStore } from './snapshot-store.ts';

test('a snapshot is taken, stored and announced', async () => {
  const { receiver, store } = receiverWith();
  const announced: RoutingTable[] = [];
  receiver.onChange((table) => announced.push(table));
  assert.equal(receiver.current(), undefined);
  assert.equal(await receiver.sealed(), undefined);

  const jws = await sealed(3);
  assert.deepEqual(await receiver.accept(jws), {
    result: 'accepted',
    generation: 3,
    createdAt: noon,
    persisted: true,
  });
  assert.equal(receiver.current()?.generation, 3);
  assert.deepEqual(await receiver.sealed(), jws);
  assert.deepEqual(await store.load(), jws);
  assert.deepEqual(announced, [receiver.current()]);
});

test('an older generation is refused, though validly signed', async () => {
  const { receiver } = receiverWith();
  const older = await sealed(3);
  await receiver.accept(older);
  await receiver.accept(await sealed(5, ['batch/v1/jobs']));
  const table = receiver.current();
  await assert.rejects(receiver.accept(older), { code: 'NotNewer', message: /Generation 3 is older .* 5/ });
  assert.equal(receiver.current(), table);
});

test('the same generation with other content is refused, even if it was made later', async () => {
  const { receiver } = receiverWith();
  await receiver.accept(await sealed(3));
  await assert.rejects(receiver.accept(await sealed(3, ['batch/v1/jobs'])), { code: 'NotNewer' });
  const later = await sealed(3, ['batch/v1/jobs'], { createdAt: at(noon + minute) });
  await assert.rejects(receiver.accept(later), { code: 'NotNewer', message: /other content/ });
  assert.equal(receiver.current()?.createdAt, noon);
});

test('the held snapshot sent again is unchanged, and announced once', async () => {
  const { receiver } = receiverWith();
  let announced = 0;
  receiver.onChange(() => announced++);
  const jws = await sealed(3);
  await receiver.accept(jws);
  const table = receiver.current();
  assert.equal((await receiver.accept(jws)).result, 'unchanged');
  assert.equal(receiver.current(), table);
  assert.equal(announced, 1);
});

test('the held snapshot signed anew is kept in its new form, so that it outlives the old key', async () => {
  const { receiver, store } = receiverWith();
  await receiver.accept(await sealed(3));
  const resealed = await sealed(3, ['v1/pods'], {}, next);
  assert.equal((await receiver.accept(resealed)).result, 'unchanged');
  assert.deepEqual(await receiver.sealed(), resealed);

  const restarted = receiverWith({ store, pinnedKeys: await pinned(next.publicJwk) }).receiver;
  await restarted.restore();
  assert.equal(restarted.current()?.generation, 3);
});

test('sets that are held may be left out, and what is stored and handed on has them', async () => {
  const { receiver, store } = receiverWith();
  const before = snapshotOf({ a: ['v1/pods'] }, { generation: 3, createdAt: at(noon) });
  const paths = ['v1/pods', 'batch/v1/jobs'];
  const after = snapshotOf({ a: ['v1/pods'], b: paths }, { generation: 4, createdAt: at(noon) });
  const whole = await sealSnapshot(after, signingKeyOf(old.privateJwk));
  const [jws] = whole.split('\n');
  const change = `${jws}\n${await setsText(after.servedSets, before.servedSets)}`;
  await assert.rejects(receiver.accept(change), { code: 'Invalid' });
  await receiver.accept(await sealed(3));
  assert.equal((await receiver.accept(change)).result, 'accepted');
  assert.deepEqual(receiver.current()?.snapshot, after);
  assert.deepEqual(await receiver.sealed(), whole);
  assert.deepEqual(await store.load(), whole);
});

test('a set that the signed part does not name is not kept', async () => {
  const { receiver } = receiverWith();
  const other = snapshotOf({ b: ['batch/v1/jobs'] });
  const [jws, sets = ''] = (await sealed(3)).split('\n');
  await receiver.accept(`${jws}\n${sets.slice(0, -1)},${(await setsText(other.servedSets)).slice(1)}`);
  assert.deepEqual(await receiver.sealed(), `${jws}\n${sets}`);
});

test('a refused snapshot changes nothing: not what is used, not what is stored', async () => {
  const { receiver, store } = receiverWith();
  const jws = await sealed(3);
  await receiver.accept(jws);
  const table = receiver.current();
  let announced = 0;
  receiver.onChange(() => announced++);
  for (const [bad, code] of [
    ['{}', 'Unsigned'],
    [(await sealed(4)).replace('\n', 'x\n'), 'BadSignature'],
    [`${await sealed(4)}x`, 'Invalid'],
    [await sealed(4, ['v1/pods'], {}, await generateSigningKey('ES256')), 'UnknownKey'],
    ['x'.repeat(12_000_000), 'TooLarge'],
    [await sealed(noon / 1000 + 86_401), 'GenerationAhead'],
    [await sealed(2), 'NotNewer'],
  ] as const) {
    await assert.rejects(receiver.accept(bad), { code });
  }
  assert.equal(receiver.current(), table);
  assert.deepEqual(await store.load(), jws);
  assert.equal(announced, 0);
});

test('every refused push is logged with its reason', async () => {
  const warnings: string[] = [];
  const logger = {
    ...silentLogger,
    warn: ({ err }: Readonly<Record<string, unknown>>) => {
      warnings.push(err instanceof SnapshotError ? err.code : String(err));
    },
  };
  const { receiver } = receiverWith({ logger });
  await assert.rejects(receiver.accept('{}'));
  assert.deepEqual(warnings, ['Unsigned']);
});

test('a refused push is remembered until one is taken; one that came too late is no error', async () => {
  const { receiver } = receiverWith();
  const refused = () => receiver.refusedPush;
  assert.equal(refused(), undefined);
  const foreign = signingKeyOf((await generateSigningKey('EdDSA')).privateJwk);
  await assert.rejects(receiver.accept(await sealSnapshot(snapshotOf({ a: ['v1/pods'] }), foreign)));
  assert.equal(refused()?.code, 'UnknownKey');
  assert.equal(refused()?.at, noon);
  await receiver.accept(await sealed(5));
  assert.equal(refused(), undefined);
  await assert.rejects(receiver.accept(await sealed(3)), { code: 'NotNewer' });
  assert.equal(refused(), undefined);
});

test('an address that the policy refuses costs its own server that address, and nobody the snapshot', async () => {
  const { logger, lines } = recordingLogger();
  const { receiver } = receiverWith({ logger });
  const bad = snapshotOf(
    {
      a: { serves: ['v1/pods'], address: '127.0.0.1:6443' },
      b: { serves: ['v1/pods'], url: 'https://169.254.169.254' },
      c: ['v1/pods'],
    },
    { createdAt: at(noon) },
  );
  const jws = await sealSnapshot(bad, signingKeyOf(old.privateJwk));
  assert.equal((await receiver.accept(jws)).result, 'accepted');
  const origins = (table = receiver.current()) => table?.servers.map(({ id, origin }) => [id, origin]);
  assert.deepEqual(origins(), [
    ['a', undefined],
    ['b', undefined],
    ['c', 'https://10.0.0.3:6443'],
  ]);
  assert.deepEqual(
    receiver.refusedAddresses.map(({ id, address }) => [id, address]),
    [
      ['a', '127.0.0.1:6443'],
      ['b', 'https://169.254.169.254'],
    ],
  );
  assert.deepEqual(receiver.concerns(), [
    {
      brief: '2 addresses of servers are left out, as the status says',
      details: [
        'the address "127.0.0.1:6443" of a is left out: it is a loopback address, which no API server has (for tests on one machine: --allow-loopback-peers)',
        'the address "https://169.254.169.254" of b is left out: it is a cloud metadata address, which no API server has',
      ],
    },
  ]);
  assert.equal(lines.filter(({ message }) => message.startsWith('An address')).length, 2);
  const renewal = { ...bad, metadata: { ...bad.metadata, createdAt: at(noon + minute) } };
  const renewed = await receiver.accept(await sealSnapshot(renewal, signingKeyOf(old.privateJwk)));
  assert.deepEqual([renewed.result, receiver.refusedAddresses.length], ['renewed', 2]);
  // The next one, with all else that it says, is taken like any other.
  await receiver.accept(await sealed(5));
  assert.deepEqual(receiver.concerns(), []);
  const lenient = receiverWith({ policy: { allowLoopback: true } }).receiver;
  await lenient.accept(jws);
  assert.deepEqual(origins(lenient.current())?.[0], ['a', 'https://127.0.0.1:6443']);
});

test('an advertised address that the policy refuses is not dialled, and costs nobody the snapshot', async () => {
  const { receiver } = receiverWith();
  const advertised = { address: '127.0.0.1:7443', by: 'peer-advertise-ip' } as const;
  const snapshot = snapshotOf(
    {
      a: { serves: ['v1/pods'], addressSource: 'lease', advertised },
      b: { serves: ['v1/pods'], advertised: { ...advertised, address: '10.1.0.2:7443' } },
    },
    { createdAt: at(noon) },
  );
  await receiver.accept(await sealSnapshot(snapshot, signingKeyOf(old.privateJwk)));
  assert.deepEqual(
    receiver.current()?.servers.map(({ origin, addressSource }) => [origin, addressSource]),
    [
      ['https://10.0.0.1:6443', 'lease'],
      ['https://10.1.0.2:7443', 'advertised'],
    ],
  );
});

test('a snapshot from the future is refused, a clock that is a little ahead is borne with', async () => {
  const { receiver } = receiverWith();
  const far = await sealed(3, ['v1/pods'], { createdAt: at(noon + 6 * minute) });
  await assert.rejects(receiver.accept(far), {
    code: 'Invalid',
    issues: [
      {
        path: 'metadata.createdAt',
        message: 'lies 360 seconds in the future; compare the clocks of both machines',
      },
    ],
  });
  const near = await sealed(3, ['v1/pods'], { createdAt: at(noon + 5 * minute) });
  assert.equal((await receiver.accept(near)).result, 'accepted');
});

test('a listener that fails, or has ended, does not disturb the others', async () => {
  const { receiver } = receiverWith();
  const heard: string[] = [];
  receiver.onChange(() => {
    throw new Error('listener');
  });
  const end = receiver.onChange(() => heard.push('ended'));
  receiver.onChange(({ generation }) => heard.push(`generation ${generation}`));
  end();
  await receiver.accept(await sealed(3));
  assert.deepEqual(heard, ['generation 3']);
});

test('a key file that was reloaded counts from the next push on', async () => {
  let current = await pinned(old.publicJwk);
  const receiver = new SnapshotReceiver({
    keys: () => current,
    addressPolicy: createAddressPolicy(),
    store: createMemorySnapshotStore(),
    now: () => noon,
  });
  const jws = await sealed(3, ['v1/pods'], {}, next);
  await assert.rejects(receiver.accept(jws), { code: 'UnknownKey' });
  current = await pinned(next.publicJwk);
  assert.equal((await receiver.accept(jws)).result, 'accepted');
});

test('the generation of a stolen key binds nobody once the key is no longer pinned', async () => {
  const pins = { now: await pinned(old.publicJwk, next.publicJwk) };
  const receiver = new SnapshotReceiver({
    keys: () => pins.now,
    addressPolicy: createAddressPolicy(),
    now: () => noon,
  });
  await receiver.accept(await sealed(1_000_000));
  await assert.rejects(receiver.accept(await sealed(4, ['v1/pods'], {}, next)), { code: 'NotNewer' });
  pins.now = await pinned(next.publicJwk);
  // The thief's snapshot is known for what it is, and stays until there is something better.
  assert.deepEqual(
    receiver.concerns().map(({ brief }) => brief),
    ['the key that the snapshot is signed with is no longer pinned'],
  );
  assert.equal(receiver.current()?.generation, 1_000_000);
  await assert.rejects(receiver.accept(await sealed(1_000_001)), { code: 'UnknownKey' });
  assert.equal((await receiver.accept(await sealed(4, ['v1/pods'], {}, next))).result, 'accepted');
  assert.deepEqual(receiver.concerns(), []);
  await assert.rejects(receiver.accept(await sealed(3, ['v1/pods'], {}, next)), { code: 'NotNewer' });
});

test('nor does it where another key has the ID of the stolen one', async () => {
  const pins = { now: await pinned(old.publicJwk) };
  const receiver = new SnapshotReceiver({
    keys: () => pins.now,
    addressPolicy: createAddressPolicy(),
    now: () => noon,
  });
  await receiver.accept(await sealed(1_000_000));
  const { kid } = old;
  pins.now = await pinned({ ...next.publicJwk, kid });
  const renewed = { ...next, privateJwk: { ...next.privateJwk, kid } };
  assert.equal((await receiver.accept(await sealed(4, ['v1/pods'], {}, renewed))).result, 'accepted');
  // A file that is read again with the same key changes nothing.
  pins.now = await pinned({ ...next.publicJwk, kid });
  await assert.rejects(receiver.accept(await sealed(3, ['v1/pods'], {}, renewed)), { code: 'NotNewer' });
});

test('a generation more than a day ahead of the clock shuts nobody out', async () => {
  const { receiver, clock } = receiverWith();
  const seconds = noon / 1000;
  await assert.rejects(receiver.accept(await sealed(2 ** 53 - 1)), {
    code: 'GenerationAhead',
    message: /more than a day ahead/,
  });
  assert.equal((await receiver.accept(await sealed(seconds + 86_400))).result, 'accepted');
  // One that came while the clock was wrong does not bind either.
  clock.now = noon - minute;
  assert.equal((await receiver.accept(await sealed(seconds))).result, 'accepted');
});

test('a snapshot of another cluster is refused by whoever has a name of its own, or has learned one', async () => {
  const { receiver } = receiverWith();
  await receiver.accept(await sealed(3, ['v1/pods'], { cluster: 'ours' }));
  const theirs = await sealed(9, ['batch/v1/jobs'], { cluster: 'theirs' });
  await assert.rejects(receiver.accept(theirs), { code: 'OtherCluster', message: /theirs.*ours/ });
  assert.equal(receiver.current()?.generation, 3);
  assert.equal((await receiver.accept(await sealed(4))).result, 'accepted');

  const named = receiverWith({ cluster: 'ours' }).receiver;
  await assert.rejects(named.accept(theirs), { code: 'OtherCluster' });
  const restarted = receiverWith({ cluster: 'ours', store: createMemorySnapshotStore(theirs) }).receiver;
  await restarted.restore();
  assert.equal(restarted.current(), undefined);
});

test('the held snapshot made later is young again, which survives a restart', async () => {
  const { receiver, store, clock } = receiverWith();
  await receiver.accept(await sealed(3));
  const before = receiver.current();
  clock.now = noon + minute;
  const whole = await sealed(3, ['v1/pods'], { createdAt: at(noon + minute) });
  // The sets are held.
  const renewal = `${whole.split('\n')[0]}\n{}`;
  assert.deepEqual(await receiver.accept(renewal), {
    result: 'renewed',
    generation: 3,
    createdAt: noon + minute,
    persisted: true,
  });
  const after = receiver.current();
  assert.equal(after?.createdAt, noon + minute);
  assert.equal(after?.snapshot, before?.snapshot);
  assert.equal(after?.resource('', 'v1', 'pods'), before?.resource('', 'v1', 'pods'));
  assert.deepEqual(await store.load(), whole);
  assert.equal((await receiver.accept(renewal)).result, 'unchanged');

  const restarted = receiverWith({ store }).receiver;
  await restarted.restore();
  assert.equal(restarted.current()?.createdAt, noon + minute);
});

test('a renewal may be signed with another key than the snapshot', async () => {
  const { receiver } = receiverWith();
  await receiver.accept(await sealed(3));
  const later = await sealed(3, ['v1/pods'], { createdAt: at(noon + minute) }, next);
  assert.equal((await receiver.accept(later)).result, 'renewed');
});

test('an old renewal played back revives nothing, and one from the future is refused', async () => {
  const { receiver, store, clock } = receiverWith();
  const [first, second, third] = await Promise.all(
    [0, 1, 2].map((minutes) => sealed(3, ['v1/pods'], { createdAt: at(noon + minutes * minute) })),
  );
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  await receiver.accept(first);
  clock.now = noon + 2 * minute;
  await receiver.accept(second);
  await receiver.accept(third);
  const table = receiver.current();
  for (const old of [first, second]) assert.equal((await receiver.accept(old)).result, 'unchanged');
  const far = await sealed(3, ['v1/pods'], { createdAt: at(noon + 10 * minute) });
  await assert.rejects(receiver.accept(far), { code: 'Invalid' });
  assert.equal(receiver.current(), table);
  assert.equal(table?.createdAt, noon + 2 * minute);
  assert.deepEqual(await store.load(), third);
});
