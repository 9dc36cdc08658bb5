import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '../../test/support/manual-clock.ts';
import type { Destination } from '../request/destination.ts';
import { ServerBook } from './server-book.ts';
import { doubtedAfter, SilenceWatch, waitedFor } from './silence-watch.ts';

const destinations: ReadonlyMap<string, Destination> = new Map(
  ['a', 'b'].map((id) => [
    id,
    {
      kind: 'peer',
      id,
      origin: `https://${id}.example:6443`,
      serverName: 'kubernetes.default.svc',
      trust: { kind: 'peer-ca' },
    },
  ]),
);

const silentAfter = doubtedAfter + waitedFor;

/** Two servers that were healthy; `a` is looked at again and again. @param others whether `b` responds to the question */
function watching(responds: boolean | 'never', others: 'respond' | 'never' = 'respond') {
  const health = new ServerBook({ rise: 2, fall: 3 });
  for (const id of ['a', 'b']) {
    health.follow(id);
    health.probed(id, 'ready');
  }
  const answers = { awaiting: 1, responses: 7 };
  const asked: string[] = [];
  const watch = new SilenceWatch({
    health,
    answersOf: (id) => (id === 'a' ? answers : { awaiting: 0, responses: 0 }),
    responds: ({ id }) => {
      if (id === 'b') return others === 'respond' ? Promise.resolve(true) : new Promise(() => {});
      asked.push(id);
      return responds === 'never' ? new Promise(() => {}) : Promise.resolve(responds);
    },
  });
  const look = async (times: number) => {
    for (let time = 0; time < times; time++) {
      watch.look(destinations);
      await settle();
    }
  };
  return { health, answers, asked, look };
}

/** The first look only notes what has been responded to so far. */
const first = 1;

test('a server that responds neither to requests nor to a question is unreachable', async () => {
  const { health, asked, look } = watching('never');
  await look(first + doubtedAfter - 1);
  assert.deepEqual(asked, []);
  await look(1);
  assert.deepEqual(asked, ['a']);
  await look(silentAfter - doubtedAfter - 1);
  assert.equal(health.isUp('a'), true);
  await look(1);
  assert.equal(health.report('a')?.status, 'unreachable');
  assert.equal(health.mayBeAsked('a'), 'last');
  assert.deepEqual(asked, ['a'], 'asked once');
});

test('a server that is slow with all requests is used as long as it responds to the question', async () => {
  const { health, asked, look } = watching(true);
  await look(first + 5 * silentAfter);
  assert.equal(health.isUp('a'), true);
  assert.equal(asked.length, (5 * silentAfter) / doubtedAfter);
});

test('a question that fails at once is asked again, and proves nothing by itself', async () => {
  const { health, asked, look } = watching(false);
  await look(first + silentAfter - 1);
  assert.equal(asked.length, silentAfter - doubtedAfter);
  assert.equal(health.isUp('a'), true);
});

test('one response ends the doubt', async () => {
  const { health, answers, look } = watching('never');
  await look(first + silentAfter - 1);
  answers.responses++;
  await look(silentAfter);
  assert.equal(health.isUp('a'), true);
});

test('requests that clients have given up count, and where nothing was asked nothing is doubted', async () => {
  const { health, answers, asked, look } = watching('never');
  answers.awaiting = 0;
  await look(5 * silentAfter);
  assert.deepEqual(asked, []);
  for (let time = 0; time < silentAfter; time++) {
    answers.awaiting = 1;
    await look(1);
    answers.awaiting = 0;
    await look(3);
  }
  assert.equal(health.isDown('a'), true);
});

test('where no other server responds either nobody is found silent: it is this router that is not reached', async () => {
  const { health, asked, look } = watching('never', 'never');
  await look(first + 5 * silentAfter);
  assert.equal(health.isUp('a'), true);
  assert.deepEqual(asked, ['a']);
});

test('the last server that is left stays in use', async () => {
  const { health, look } = watching('never');
  for (let time = 0; time < 3; time++) health.probed('b', 'not-ready');
  await look(first + 3 * silentAfter);
  assert.equal(health.isUp('a'), true);
});
