import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import * as v from 'valibot';
import { Channel, type ChannelError, type ChannelMessage, type ChannelOptions } from './channel.ts';

type Options = Partial<Pick<ChannelOptions<string>, 'answer' | 'onFault'>>;

/** Two ends whose messages go as JSON, as between processes. */
function connected(left: Options = {}, right: Options = {}) {
  const open = (other: string, options: Options, to: () => Channel<string, string>) =>
    new Channel<string, string>({
      other,
      questions: v.string(),
      post: (message) => queueMicrotask(() => to().receive(JSON.parse(JSON.stringify(message)))),
      answer: async (question) => `${question}!`,
      onFault: () => {},
      ...options,
    });
  const one: Channel<string, string> = open('right', left, () => other);
  const other: Channel<string, string> = open('left', right, () => one);
  return { one, other };
}

const withCode = (code: ChannelError['code']) => (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === code;

test('questions are answered in both directions, each by its own answer', async () => {
  const { one, other } = connected();
  const answers = await Promise.all([
    one.ask('a', v.string(), 1_000),
    one.ask('b', v.string(), 1_000),
    other.ask('c', v.string(), 1_000),
  ]);
  assert.deepEqual(answers, ['a!', 'b!', 'c!']);
});

test('an end that cannot do what it is asked for says why', async () => {
  const { one } = connected({}, { answer: () => Promise.reject(new Error('the disk is full')) });
  await assert.rejects(one.ask('a', v.string(), 1_000), /right: the disk is full/);
  await assert.rejects(one.ask('a', v.string(), 1_000), withCode('Refused'));
});

test('an answer of another form is none', async () => {
  const { one } = connected({}, { answer: async () => ({ admission: 'fresh' }) });
  await assert.rejects(one.ask('a', v.picklist(['fresh']), 1_000), withCode('InvalidAnswer'));
});

test('who does not answer in time is not waited for, and what comes late is dropped', async () => {
  const late = Promise.withResolvers<string>();
  const { one } = connected({}, { answer: () => late.promise });
  await assert.rejects(one.ask('a', v.string(), 1), withCode('Timeout'));
  late.resolve('late');
  await new Promise((resolve) => setImmediate(resolve));
});

test('the end of the other process ends what waits for it, and what is asked later', async () => {
  const { one } = connected({}, { answer: () => new Promise(() => {}) });
  const asked = one.ask('a', v.string(), 60_000);
  one.close();
  await assert.rejects(asked, withCode('Closed'));
  await assert.rejects(one.ask('b', v.string(), 60_000), withCode('Closed'));
});

test('a question of another form is refused, told of, and never answered', async () => {
  const faults: string[] = [];
  const posted: ChannelMessage[] = [];
  const channel = new Channel<string, string>({
    other: 'other',
    questions: v.literal('known'),
    post: (message) => posted.push(message),
    answer: () => assert.fail('answers what it cannot read'),
    onFault: (fault) => faults.push(fault),
  });
  channel.receive({ kind: 'question', id: 1, question: 'unknown' });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(posted, [{ kind: 'fault', id: 1, reason: 'the question cannot be read' }]);
  assert.equal(faults.length, 1);
});

test('no message, whatever it is, makes an end fail or answers a question that is open', async () => {
  await fc.assert(
    fc.asyncProperty(fc.anything(), async (message) => {
      const channel = new Channel<string, string>({
        other: 'other',
        questions: v.string(),
        post: () => {},
        answer: async () => 'answer',
        onFault: () => {},
      });
      const open = channel.ask('a', v.string(), 60_000);
      channel.receive(message);
      channel.close();
      await assert.rejects(open, withCode('Closed'));
    }),
    { numRuns: 200 },
  );
});
