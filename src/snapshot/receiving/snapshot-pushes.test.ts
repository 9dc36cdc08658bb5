import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { eventually } from '../../../test/support/eventually.ts';
import { receiverWith, sealed } from '../../../test/support/snapshots/snapshot-receiver.ts';
import { generateSigningKey } from '../signing/seal.ts';
import { SnapshotPushes } from './snapshot-pushes.ts';

const piece = 16 * 1024;

/** A body that comes in pieces, each when it is read. */
function bodyOf(text: string) {
  const bytes = new TextEncoder().encode(text);
  const state = { taken: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (state.taken >= bytes.length) {
          controller.close();
          return;
        }
        controller.enqueue(bytes.slice(state.taken, state.taken + piece));
        state.taken += piece;
      },
      cancel() {
        state.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return Object.assign(state, { body });
}

/** A body whose client sends its beginning and then nothing. */
function stalledBody(beginning: string) {
  const state = { isCancelled: false };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(beginning)),
    cancel() {
      state.isCancelled = true;
    },
  });
  return Object.assign(state, { body });
}

function heldCount() {
  const held = { bytes: 0, most: 0 };
  const add = (bytes: number): void => {
    held.bytes += bytes;
    held.most = Math.max(held.most, held.bytes);
  };
  return Object.assign(held, { add });
}

/** Sealed, with so much behind its signature that it comes in many pieces. */
async function largePush(generation: number): Promise<string> {
  return `${await sealed(generation)}\n${'A'.repeat(4 * 1024 * 1024)}`;
}

const queue = 'passthrough';

async function reasonOf(response: Response): Promise<string> {
  const { reason, details } = (await response.json()) as {
    reason: string;
    details?: { causes?: { reason: string }[] };
  };
  return details?.causes?.[0]?.reason ?? reason;
}

describe('attack: megabytes that nobody has signed', () => {
  test('a key that is not pinned is read in the header, and the rest is not read at all', async () => {
    const { receiver } = receiverWith();
    const push = bodyOf(
      `${await sealed(1, ['v1/pods'], {}, await generateSigningKey('EdDSA'))}${'A'.repeat(9e6)}`,
    );
    const response = await new SnapshotPushes(receiver).take({ body: push.body, queue });
    assert.deepEqual([response.status, await reasonOf(response)], [401, 'UnknownKey']);
    assert.deepEqual([push.taken, push.isCancelled], [piece, true]);
    assert.equal(receiver.refusedPush?.code, 'UnknownKey');
  });

  test('what has no header in its first pieces is no snapshot', async () => {
    const push = bodyOf('A'.repeat(9e6));
    const response = await new SnapshotPushes(receiverWith().receiver).take({ body: push.body, queue });
    assert.deepEqual([response.status, await reasonOf(response)], [401, 'Unsigned']);
    assert.deepEqual([push.taken, push.isCancelled], [piece, true]);
  });
});

test('attack: of many pushes under the ID of a pinned key one is read at a time, and the others wait with their header', async () => {
  const pushes = new SnapshotPushes(receiverWith().receiver);
  const [header = ''] = (await sealed(1)).split('.');
  const first = stalledBody(`${header}.`);
  const controller = new AbortController();
  const taking = [pushes.take({ body: first.body, queue, signal: controller.signal })];
  const others = Array.from({ length: 7 }, () => bodyOf(`${header}.${'A'.repeat(9e6)}`));
  for (const { body } of others) taking.push(pushes.take({ body, queue }));
  await eventually(() => others.every(({ taken }) => taken > 0));
  await turn();
  assert.ok(others.every(({ taken }) => taken <= 2 * piece));
  const surplus = bodyOf(`${header}.${'A'.repeat(9e6)}`);
  const refused = await pushes.take({ body: surplus.body, queue });
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1']);
  assert.equal(surplus.isCancelled, true);
  // A caller who is known does not wait for them.
  const known = await pushes.take({ body: bodyOf(await sealed(1)).body, queue: 'authenticated' });
  assert.equal(known.status, 200);
  controller.abort();
  for (const response of await Promise.all(taking)) assert.notEqual(response.status, 200);
  assert.equal((await pushes.take({ body: bodyOf(await sealed(2)).body, queue })).status, 200);
});

test('what is read of a push is counted for its client, and given back with the response', async () => {
  const held = heldCount();
  const { body } = bodyOf(await largePush(1));
  const response = await new SnapshotPushes(receiverWith().receiver).take({ body, queue, held });
  // Behind the signature stands no set.
  assert.equal(response.status, 422);
  assert.ok(held.most > 4 * 1024 * 1024, `${held.most}`);
  assert.equal(held.bytes, 0);
});

async function stalled(context: TestContext, beginning: string, milliseconds: number): Promise<void> {
  const held = heldCount();
  const { receiver } = receiverWith();
  const pushes = new SnapshotPushes(receiver);
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const push = stalledBody(beginning);
  const taking = pushes.take({ body: push.body, queue, held });
  while (held.bytes < beginning.length) await turn();
  for (let rounds = 0; rounds < 10; rounds++) await turn();
  context.mock.timers.tick(milliseconds);
  const response = await taking;
  assert.deepEqual([response.status, await reasonOf(response)], [504, 'Timeout']);
  assert.deepEqual([push.isCancelled, held.bytes], [true, 0]);
  context.mock.timers.reset();
  assert.equal((await pushes.take({ body: bodyOf(await sealed(1)).body, queue })).status, 200);
}

test('a push whose header does not come ends', (context) => stalled(context, 'eyJ', 3_000));

test('a push that stands still in its turn ends, and the next one is taken', async (context) => {
  const [header = ''] = (await sealed(1)).split('.');
  await stalled(context, `${header}.AAAA`, 5_000);
});

test('a push that its client breaks off is a 400, and no failure of the router', async () => {
  const [header = ''] = (await sealed(1)).split('.');
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(`${header}.`)),
    pull: (controller) => controller.error(new Error('the client closed the connection')),
  });
  const response = await new SnapshotPushes(receiverWith().receiver).take({ body, queue });
  assert.equal(response.status, 400);
});

test('more than any snapshot has is a 413, and what comes behind it is not read', async () => {
  const push = bodyOf(`${await sealed(1)}\n${'A'.repeat(13e6)}`);
  const response = await new SnapshotPushes(receiverWith().receiver).take({ body: push.body, queue });
  assert.equal(response.status, 413);
  assert.equal(push.isCancelled, true);
});
