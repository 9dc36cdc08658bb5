import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { manualClock, settle } from '../../test/support/manual-clock.ts';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { silentLogger } from '../runtime/logger.ts';
import { type Delivery, type DeliveryResult, TargetDelivery } from './deliver.ts';
import { defaultTiming } from './documents/timing.ts';

const accepted: DeliveryResult = { kind: 'accepted' };
const unreachable: DeliveryResult = { kind: 'unreachable', message: 'connection refused' };

function delivery(generation: number): Delivery {
  return { snapshot: snapshotOf({ a: ['v1/pods'] }, { generation }), sealed: undefined };
}

/**
 * @param holds whether the target says that it holds what it took; throws when it cannot be asked. Default: it is no
 *   target that can be asked
 */
function setUp(
  result: (generation: number, attempt: number) => DeliveryResult,
  holds?: () => boolean,
  refusalBackOff = { initialMilliseconds: 100, maximumMilliseconds: 1000 },
) {
  const clock = manualClock();
  const controller = new AbortController();
  const puts: number[] = [];
  const held: number[] = [];
  let questions = 0;
  const warnings: unknown[] = [];
  const target = new TargetDelivery(
    {
      name: 'router',
      async put({ snapshot }) {
        puts.push(snapshot.metadata.generation);
        return result(snapshot.metadata.generation, puts.length);
      },
      ...(holds && {
        async holds() {
          questions++;
          return holds();
        },
      }),
    },
    {
      clock,
      timing: {
        ...defaultTiming,
        deliveryBackOff: { initialMilliseconds: 100, maximumMilliseconds: 1000 },
        refusalBackOff,
      },
      logger: {
        ...silentLogger,
        warn: (fields) => warnings.push(fields),
      },
      onNewerHeld: (generation) => held.push(generation),
    },
  );
  const running = target.run(controller.signal);
  const asleep = () => eventually(() => clock.sleeping.length === 1);
  return {
    clock,
    target,
    puts,
    held,
    warnings,
    questions: () => questions,
    asleep,
    async stop() {
      controller.abort();
      await running;
    },
  };
}

test('delivers an offered snapshot at once, and only the newest', async () => {
  const { target, puts, asleep, stop } = setUp(() => accepted);
  await asleep();
  target.offer(delivery(1));
  target.offer(delivery(2));
  await asleep();
  await stop();
  assert.deepEqual(puts, [2]);
});

test('a router that comes late gets the current snapshot, not the one it missed', async () => {
  let up = false;
  const { clock, target, puts, asleep, stop } = setUp(() => (up ? accepted : unreachable));
  await asleep();
  target.offer(delivery(1));
  await asleep();
  target.offer(delivery(2));
  up = true;
  await clock.advance(75);
  await asleep();
  assert.deepEqual(puts, [1, 2]);
  assert.equal(target.status().heldGeneration, 2);
  await stop();
});

test('the back-off grows while deliveries fail, and the log has the failure once', async () => {
  const { clock, target, warnings, asleep, stop } = setUp(() => unreachable);
  await asleep();
  target.offer(delivery(1));
  const waits: number[] = [];
  for (let failure = 0; failure < 6; failure++) {
    await eventually(() => target.status().failures === failure + 1 && clock.sleeping.length === 1);
    const [wait = 0] = clock.sleeping;
    waits.push(wait);
    await clock.advance(wait);
  }
  await stop();
  assert.deepEqual(waits, [75, 150, 300, 600, 750, 750]);
  assert.equal(warnings.length, 1);
});

test('after a refusal, a newer snapshot is delivered at once', async () => {
  const { target, puts, asleep, stop } = setUp((generation) =>
    generation === 1 ? { kind: 'refused', message: '422' } : accepted,
  );
  await asleep();
  target.offer(delivery(1));
  await eventually(() => target.status().lastResult?.kind === 'refused');
  await asleep();
  target.offer(delivery(2));
  await eventually(() => target.status().lastResult?.kind === 'accepted');
  await stop();
  assert.deepEqual(puts, [1, 2]);
});

test('a newer generation of a router is reported, or ours if it names none', async () => {
  const { clock, target, held, asleep, stop } = setUp((_, attempt) => ({
    kind: 'newer-held',
    generation: attempt === 1 ? 9 : undefined,
    message: '409',
  }));
  await asleep();
  target.offer(delivery(5));
  await eventually(() => held.length === 1);
  await asleep();
  await clock.advance(75);
  await eventually(() => held.length === 2);
  await stop();
  assert.deepEqual(held, [9, 5]);
  assert.equal(target.status().heldGeneration, undefined);
});

test('a target without a check keeps what it has taken', async () => {
  const { clock, target, puts, asleep, stop } = setUp(() => accepted);
  await asleep();
  target.offer(delivery(1));
  await eventually(() => puts.length === 1);
  await asleep();
  await clock.advance(60_000);
  assert.equal(puts.length, 1);
  await stop();
});

test('a router that holds the snapshot is checked twice a second and gets no delivery', async () => {
  const { clock, target, puts, questions, stop } = setUp(
    () => accepted,
    () => true,
  );
  await settle();
  target.offer(delivery(1));
  await clock.advance(10_000);
  assert.deepEqual(puts, [1]);
  assert.equal(questions(), 20);
  await stop();
});

test('a router that has lost its snapshot in a restart gets it again within a second', async () => {
  let holds = true;
  const { clock, target, puts, stop } = setUp(
    () => accepted,
    () => holds,
  );
  await settle();
  target.offer(delivery(1));
  await clock.advance(10_000);
  holds = false;
  await clock.advance(500);
  assert.deepEqual(puts, [1, 1]);
  await stop();
});

test('after a failed check the snapshot is delivered, which shows the error', async () => {
  const { clock, target, stop } = setUp(
    (_, attempt) => (attempt === 1 ? accepted : unreachable),
    () => {
      throw new Error('connection reset');
    },
  );
  await settle();
  target.offer(delivery(1));
  await settle();
  assert.equal(target.status().heldGeneration, 1);
  await clock.advance(500);
  assert.equal(target.status().heldGeneration, undefined);
  assert.equal(target.status().lastResult?.kind, 'unreachable');
  await stop();
});

test('the back-off is longer for a router that refuses than for one that does not respond', async () => {
  const refused = setUp(
    () => ({ kind: 'refused', message: '401 unknown key' }),
    () => false,
    { initialMilliseconds: 10_000, maximumMilliseconds: 10_000 },
  );
  await settle();
  refused.target.offer(delivery(1));
  await refused.clock.advance(7_000);
  assert.equal(refused.puts.length, 1);
  await refused.clock.advance(1_000);
  assert.equal(refused.puts.length, 2);
  await refused.stop();
});
