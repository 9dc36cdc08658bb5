import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerLoad } from './server-choice.ts';

test('a request is in flight until its end, which counts once', () => {
  const load = new ServerLoad(() => 0);
  const end = load.begin('a');
  const endOther = load.begin('a');
  assert.equal(load.inFlight('a'), 2);
  end();
  end();
  assert.equal(load.inFlight('a'), 1);
  endOther();
  assert.equal(load.inFlight('a'), 0);
});

test('a server that could not be reached is avoided for a while, or until it answers', () => {
  let now = 0;
  const load = new ServerLoad(() => now);
  load.notReached('a');
  load.notReached('b');
  assert.equal(load.isAvoided('a'), true);
  load.reached('a');
  assert.equal(load.isAvoided('a'), false);
  assert.equal(load.isAvoided('b'), true);
  now = 5_000;
  assert.equal(load.isAvoided('b'), false);
});
