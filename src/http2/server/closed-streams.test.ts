import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClosedStreams } from './server-session.ts';

test('a stream that we closed accepts the data in transit, and not a byte more', () => {
  const streams = new ClosedStreams();
  streams.opened(3);
  streams.giveUp(1, 100);
  streams.receive(1, 60);
  streams.receive(1, 40);
  assert.equal(streams.stateOf(1), 'closed by us');
  streams.receive(1, 1);
  assert.equal(streams.stateOf(1), 'closed');
  streams.receive(3, 1);
  assert.equal(streams.stateOf(3), 'closed');
});

test('attack: of endlessly many closed streams only the latest are remembered', () => {
  const streams = new ClosedStreams();
  for (let stream = 1; stream < 100_000; stream += 2) {
    streams.opened(stream);
    streams.giveUp(stream, 1);
  }
  assert.equal(streams.stateOf(99_999), 'closed by us');
  assert.equal(streams.stateOf(99_999 - 2 * 255), 'closed by us');
  assert.equal(streams.stateOf(99_999 - 2 * 256), 'closed');
});
