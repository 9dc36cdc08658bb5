import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GivenUpStreams } from './client-streams.ts';

test('a stream that we closed accepts the data in transit, and not a byte more', () => {
  const streams = new GivenUpStreams();
  streams.add(1, 100);
  streams.receive(1, 60);
  streams.receive(1, 40);
  assert.equal(streams.has(1), true);
  streams.receive(1, 1);
  assert.equal(streams.has(1), false);
  streams.receive(3, 1);
});

test('attack: of endlessly many closed streams only the latest are remembered', () => {
  const streams = new GivenUpStreams();
  for (let stream = 1; stream < 100_000; stream += 2) streams.add(stream, 1);
  assert.equal(streams.has(99_999), true);
  assert.equal(streams.has(99_999 - 2 * 255), true);
  assert.equal(streams.has(99_999 - 2 * 256), false);
});
