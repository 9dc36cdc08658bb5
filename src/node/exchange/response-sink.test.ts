import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebResponseSink } from './response-sink.ts';

test('a reader that gives up in the middle of a body does not wait for the rest', async () => {
  const giveUp = new AbortController();
  const response = new WebResponseSink(giveUp.signal);
  let isGone = false;
  response.attach({
    onRoom() {},
    onGone() {
      isGone = true;
      response.release();
    },
  });
  response.respond(200, []);
  const body = response.response?.body;
  assert.ok(body);
  const reader = body.getReader();
  response.write(new TextEncoder().encode('the first half'));
  assert.equal((await reader.read()).value?.byteLength, 14);
  const rest = reader.read();
  const reason = new Error('too late');
  giveUp.abort(reason);
  await assert.rejects(rest, reason);
  assert.equal(isGone, true, 'the destination is let go');
});

test('giving up after the end changes nothing', async () => {
  const giveUp = new AbortController();
  const response = new WebResponseSink(giveUp.signal);
  response.attach({ onRoom() {}, onGone: () => assert.fail('it is over') });
  response.respond(200, []);
  response.write(new TextEncoder().encode('whole'));
  response.end();
  giveUp.abort();
  assert.equal(await response.response?.text(), 'whole');
});
