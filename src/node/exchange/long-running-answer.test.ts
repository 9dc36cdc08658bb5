import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { AnswerSink } from './answer-sink.ts';
import { LongRunningAnswer } from './long-running-answer.ts';
import { OpenStreams } from './open-streams.ts';

const json: RawHeaders = ['Content-Type', 'application/json'];

/** An answer whose client's side is a string. */
function startAnswer(options: { isWatch?: boolean; status?: number; headers?: RawHeaders } = {}) {
  const { isWatch = true, status = 200, headers = json } = options;
  let received = '';
  const sink: AnswerSink = {
    attach() {},
    release() {},
    start: () => new Response(),
    write(chunk) {
      received += new TextDecoder().decode(chunk);
      return true;
    },
    end() {
      received += '<end>';
    },
    breakOff() {
      received += '<broken off>';
    },
  };
  const streams = new OpenStreams();
  const answer = new LongRunningAnswer(sink, { isWatch }, streams);
  answer.start(status, '', headers);
  const write = (text: string): boolean => answer.write(new TextEncoder().encode(text));
  return { answer, streams, write, received: () => received };
}

test('a quiet watch ends at once', () => {
  const { answer, streams, write, received } = startAnswer();
  write('{"type":"ADDED"}\n');
  answer.endSoon();
  assert.equal(received(), '{"type":"ADDED"}\n<end>');
  assert.equal(streams.size, 0);
});

test('a watch in the middle of an event gets the rest of it, and nothing of the next one', () => {
  const { answer, write, received } = startAnswer();
  write('{"type":');
  answer.endSoon();
  write('"AD');
  assert.equal(write('DED"}\n{"type":"MOD'), true);
  assert.equal(received(), '{"type":"ADDED"}\n<end>');
});

test('what comes behind its end is dropped, and its own end is no second one', () => {
  const { answer, write, received } = startAnswer();
  answer.endSoon();
  assert.equal(write('{"type":"ADDED"}\n'), true);
  answer.end();
  answer.breakOff(new Error('the client has gone'));
  answer.cut();
  assert.equal(received(), '<end>');
});

test('a watch that does not come to the end of its event is broken off in the end', () => {
  const { answer, write, received } = startAnswer();
  write('{"type":');
  answer.endSoon();
  answer.cut();
  assert.equal(received(), '{"type":<broken off>');
});

for (const [what, options] of Object.entries({
  'a log': { isWatch: false, headers: ['Content-Type', 'text/plain'] },
  'a stream through a proxy that looks like a watch': { isWatch: false },
  'a compressed watch': { headers: [...json, 'Content-Encoding', 'gzip'] },
  'a watch of an unknown form': { headers: ['Content-Type', 'application/cbor-seq'] },
  'a refused watch': { status: 403 },
})) {
  test(`${what} goes on to its own end, and is broken off when there is no more time`, () => {
    const { answer, streams, write, received } = startAnswer(options);
    write('line\n');
    answer.endSoon();
    write('line\n');
    assert.equal(received(), 'line\nline\n');
    assert.equal(streams.size, 1);
    answer.cut();
    assert.equal(received(), 'line\nline\n<broken off>');
  });
}

test('an answer that has ended by itself is in no shutdown’s way', () => {
  const { answer, streams } = startAnswer();
  answer.end();
  answer.release();
  assert.equal(streams.size, 0);
});
