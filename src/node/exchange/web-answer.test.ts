import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebAnswer } from './web-answer.ts';

function answerFor(signal: AbortSignal): WebAnswer {
  return new WebAnswer({ method: 'GET', target: '/', headers: [], connection: {}, body: () => null, signal });
}

test('whoever gives up in the middle of a body is told so, and does not wait for the rest', async () => {
  const giveUp = new AbortController();
  const answer = answerFor(giveUp.signal);
  let isGone = false;
  answer.attach(
    () => undefined,
    () => {
      isGone = true;
      answer.release();
    },
  );
  const { body } = answer.start(200, 'OK', []);
  assert.ok(body);
  const reader = body.getReader();
  answer.write(new TextEncoder().encode('the first half'));
  assert.equal((await reader.read()).value?.byteLength, 14);
  const rest = reader.read();
  const reason = new Error('too late');
  giveUp.abort(reason);
  await assert.rejects(rest, reason);
  assert.equal(isGone, true, 'the destination is let go');
});

test('giving up after the end changes nothing', async () => {
  const giveUp = new AbortController();
  const answer = answerFor(giveUp.signal);
  answer.attach(
    () => undefined,
    () => assert.fail('it is over'),
  );
  const { body } = answer.start(200, 'OK', []);
  answer.write(new TextEncoder().encode('whole'));
  answer.end();
  giveUp.abort();
  assert.equal(await new Response(body).text(), 'whole');
});
