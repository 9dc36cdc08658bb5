import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionCloser } from './connection-closer.ts';
import { ServerBook } from './server-book.ts';
import type { ProbeOutcome } from './server-states.ts';

function closing(...ids: string[]) {
  const health = new ServerBook({ rise: 1, fall: 2 });
  const ended: string[] = [];
  health.observe({ changed: connectionCloser(health, (id, how) => ended.push(`${id} ${how}`)) });
  const probe = (id: string, ...outcomes: ProbeOutcome[]) => {
    for (const outcome of outcomes) health.probed(id, outcome);
  };
  for (const id of ids) {
    health.follow(id);
    probe(id, 'ready');
  }
  return { health, ended, probe };
}

test('connections end once when a server becomes unhealthy, not with each further failure', () => {
  const { ended, probe } = closing('a', 'b');
  probe('a', 'unreachable', 'unreachable', 'unreachable', 'unreachable', 'unreachable');
  assert.deepEqual(ended, ['a at-once']);
  probe('a', 'ready', 'unreachable', 'unreachable');
  assert.deepEqual(ended, ['a at-once', 'a at-once'], 'and once more the next time');
});

test('what a server that is not ready still carries may end by itself', () => {
  const { ended, probe } = closing('a', 'b');
  probe('a', 'not-ready', 'not-ready');
  assert.deepEqual(ended, ['a when-idle']);
});

test('connections to the last server stay, until another one has recovered', () => {
  const { ended, probe } = closing('a', 'b');
  probe('a', 'unreachable', 'unreachable');
  probe('b', 'unreachable', 'unreachable', 'unreachable');
  assert.deepEqual(ended, ['a at-once'], 'b was the last one');
  probe('a', 'ready');
  assert.deepEqual(ended, ['a at-once', 'b at-once']);
  probe('a', 'unreachable', 'unreachable');
  probe('b', 'ready');
  assert.deepEqual(ended, ['a at-once', 'b at-once', 'a at-once'], 'now a was, and b is back');
});

test('the last server that recovers itself loses nothing', () => {
  const { ended, probe } = closing('a');
  probe('a', 'unreachable', 'unreachable', 'ready');
  assert.deepEqual(ended, []);
});

test('a server that has left the snapshot is not closed later', () => {
  const { health, ended, probe } = closing('a', 'b');
  probe('a', 'unreachable', 'unreachable');
  probe('b', 'unreachable', 'unreachable');
  health.unfollow('b');
  probe('a', 'ready');
  assert.deepEqual(ended, ['a at-once']);
});
