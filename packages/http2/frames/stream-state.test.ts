import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isClosed,
  isEnding,
  isReceiving,
  nextState,
  type StreamEvent,
  type StreamState,
  takesMore,
} from './stream-state.ts';

const events: readonly StreamEvent[] = [
  'HEADERS sent',
  'message whole',
  'END_STREAM sent',
  'message received',
  'rest given up',
  'reset',
];

/** All sequences of up to seven events, with the states that each goes through. */
function* lives(start: StreamState, length = 7): Generator<[StreamEvent[], StreamState[]]> {
  yield [[], [start]];
  if (length === 0) return;
  for (const event of events) {
    for (const [more, states] of lives(nextState(start, event), length - 1)) {
      yield [
        [event, ...more],
        [start, ...states],
      ];
    }
  }
}

test('a stream that is closed stays as it was closed', () => {
  for (const end of ['closed', 'reset'] as const)
    for (const event of events) assert.equal(nextState(end, event), end);
});

test('every life of a stream of a server ends with its response sent, or reset', () => {
  for (const start of ['open', 'half-closed (remote)'] as const) {
    for (const [happened, states] of lives(start, 5)) {
      const end = states.at(-1);
      if (end === 'reset') assert.ok(happened.includes('reset'));
      if (end === 'closed') {
        const sent = happened.indexOf('END_STREAM sent');
        const givenUp = happened.indexOf('rest given up');
        assert.ok(sent !== -1 || givenUp !== -1, `${happened}`);
      }
    }
  }
});

test('nothing comes back: a side that has ended stays ended', () => {
  for (const [happened, states] of lives('idle', 6)) {
    let mayReceive = states[0] === 'idle';
    let mayAdd = true;
    for (const [place, state] of states.entries()) {
      if (place === 0 || state === 'idle') continue;
      if (!mayReceive) assert.ok(!isReceiving(state), `${happened}: ${states}`);
      if (!mayAdd) assert.ok(!takesMore(state), `${happened}: ${states}`);
      mayReceive = isReceiving(state);
      mayAdd = takesMore(state);
      assert.ok(!isClosed(state) || !(mayReceive || mayAdd || isEnding(state)), state);
    }
  }
});

test('a request of a client is open until its end is sent, whatever becomes of its content', () => {
  const states = (...happened: StreamEvent[]) => happened.reduce(nextState, 'idle' as StreamState);
  assert.equal(states('HEADERS sent'), 'open');
  assert.equal(states('HEADERS sent', 'message whole'), 'open, ending');
  assert.equal(states('HEADERS sent', 'message whole', 'END_STREAM sent'), 'half-closed (local)');
  assert.equal(states('HEADERS sent', 'END_STREAM sent', 'message received'), 'closed');
  assert.equal(states('HEADERS sent', 'message received', 'rest given up'), 'closed');
  assert.equal(states('reset', 'HEADERS sent'), 'reset');
});
