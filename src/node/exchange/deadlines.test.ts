import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { collectGarbage, inMegabytes, oldSpace } from '../../../test/support/security/memory.ts';
import { Deadlines, type Expiring } from './deadlines.ts';

/** @returns a function to call when the request is over */
function begin(deadlines: Deadlines, request: Expiring): () => void {
  const place = deadlines.add(request);
  return () => deadlines.remove(request, place);
}

/** Deadlines on a clock that is moved by hand. */
function startDeadlines(context: TestContext, timeout: number, onExpired?: (requests: number) => void) {
  const clock = { now: 0 };
  const deadlines = new Deadlines({
    timeout,
    clock: () => clock.now,
    ...(onExpired === undefined ? {} : { onExpired }),
  });
  context.after(() => deadlines.stop());
  return { clock, deadlines };
}

test('a request is ended once at its deadline: never early, at most two checks late', (context) => {
  fc.assert(
    fc.property(fc.nat({ max: 100_000 }), fc.integer({ min: 1, max: 120_000 }), (start, timeout) => {
      const { clock, deadlines } = startDeadlines(context, timeout);
      clock.now = start;
      const ends: number[] = [];
      deadlines.add({ expire: () => ends.push(clock.now) });
      for (; clock.now < start + timeout + 5_000; clock.now += 333) deadlines.check();
      const [end] = ends;
      assert.equal(ends.length, 1);
      assert.ok(end !== undefined && end >= start + timeout && end <= start + timeout + 2_333, `${end}`);
      deadlines.stop();
    }),
    { numRuns: 50 },
  );
});

test('a request that has ended by itself is left alone', (context) => {
  const { clock, deadlines } = startDeadlines(context, 1_000, () => assert.fail('it was over'));
  begin(deadlines, { expire() {} })();
  clock.now = 10_000;
  deadlines.check();
});

test('a request that reuses the place of another is not ended or removed for it', (context) => {
  const { clock, deadlines } = startDeadlines(context, 1_000);
  const first = { expire: () => assert.fail('it was over') };
  const firstIsOver = begin(deadlines, first);
  firstIsOver();
  clock.now = 5_000;
  const ended: string[] = [];
  deadlines.add({ expire: () => ended.push('second') });
  deadlines.check();
  // Told twice that it is over, as a request may be that has both failed and closed.
  firstIsOver();
  clock.now = 10_000;
  deadlines.check();
  deadlines.check();
  assert.deepEqual(ended, ['second']);
});

test('a request may end while others are being ended, and each is ended once', (context) => {
  const { clock, deadlines } = startDeadlines(context, 1_000);
  const ended: number[] = [];
  const requests = [0, 1, 2, 3].map((number) => ({
    expire() {
      ended.push(number);
      for (const isOver of allOver) isOver();
      // One that takes its place at once has all of its time.
      deadlines.add({ expire: () => ended.push(10 + number) });
    },
  }));
  const allOver = requests.map((request) => begin(deadlines, request));
  clock.now = 10_000;
  deadlines.check();
  assert.deepEqual(ended, [0, 1, 2, 3]);
  clock.now = 20_000;
  deadlines.check();
  assert.deepEqual(
    ended.toSorted((one, other) => one - other),
    [0, 1, 2, 3, 10, 11, 12, 13],
  );
});

test('after a pause of the process only overdue requests are ended', (context) => {
  const told: number[] = [];
  const { clock, deadlines } = startDeadlines(context, 60_000, (requests) => told.push(requests));
  const ended: string[] = [];
  deadlines.add({ expire: () => ended.push('before') });
  clock.now = 3_600_000;
  // This request comes before the timer has had its turn.
  deadlines.add({ expire: () => ended.push('after') });
  deadlines.check();
  assert.deepEqual(ended, ['before']);
  clock.now += 62_000;
  deadlines.check();
  assert.deepEqual(ended, ['before', 'after']);
  assert.deepEqual(told, [1, 1]);
});

test('an error while ending a request is reported, and the others are still ended', (context) => {
  const failures: unknown[] = [];
  const clock = { now: 0 };
  const onFailed = (error: unknown) => failures.push(error);
  let expired = 0;
  const onExpired = (requests: number) => (expired += requests);
  const deadlines = new Deadlines({ timeout: 1_000, clock: () => clock.now, onExpired, onFailed });
  context.after(() => deadlines.stop());
  const failure = new Error('the stream is gone');
  let ended = 0;
  deadlines.add({
    expire() {
      throw failure;
    },
  });
  deadlines.add({ expire: () => ended++ });
  clock.now = 10_000;
  deadlines.check();
  assert.deepEqual(failures, [failure]);
  assert.equal(ended, 1);
  assert.equal(expired, 2);
});

// As the entries of a `Set` do: 5.6 MiB of these 10.
test('requests that are over keep none that came after them alive until all of the heap is collected', (context) => {
  const { deadlines } = startDeadlines(context, 60_000);
  const inFlight: (() => void)[] = [];
  const oneMore = (): void => {
    const request = { expire: () => {}, bytes: Array.from({ length: 128 }, () => 0) };
    inFlight.push(begin(deadlines, request));
    if (inFlight.length > 64) inFlight.shift()?.();
  };
  for (let count = 0; count < 200; count++) oneMore();
  collectGarbage();
  const before = oldSpace();
  for (let count = 0; count < 10_000; count++) oneMore();
  const grown = oldSpace() - before;
  assert.ok(grown < 1024 * 1024, `${inMegabytes(grown)} became old`);
});

test('a request that goes on has all of its time again', (context) => {
  const { clock, deadlines } = startDeadlines(context, 1_000);
  let ended = 0;
  const place = deadlines.add({ expire: () => ended++ });
  for (; clock.now < 5_000; clock.now += 500) {
    deadlines.restart(place);
    deadlines.check();
  }
  assert.equal(ended, 0);
  clock.now += 1_200;
  deadlines.check();
  assert.equal(ended, 1);
});
