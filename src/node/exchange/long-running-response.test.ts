import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { LongRunningResponse } from './long-running-response.ts';
import { OpenStreams } from './open-streams.ts';
import type { ResponseSink } from './response-sink.ts';

const json: RawHeaders = ['Content-Type', 'application/json'];

/** A response whose client's side is a string. */
function startResponse(options: { isWatch?: boolean; status?: number; headers?: RawHeaders } = {}) {
  const { isWatch = true, status = 200, headers = json } = options;
  let received = '';
  const sink: ResponseSink = {
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
  const response = new LongRunningResponse(sink, { isWatch }, streams);
  response.start(status, '', headers);
  const write = (text: string): boolean => response.write(new TextEncoder().encode(text));
  return { response, streams, write, received: () => received };
}

test('a quiet watch ends at once', () => {
  const { response, streams, write, received } = startResponse();
  write('{"type":"ADDED"}\n');
  response.endSoon();
  assert.equal(received(), '{"type":"ADDED"}\n<end>');
  assert.equal(streams.size, 0);
});

test('a watch in the middle of an event gets the rest of it, and nothing of the next one', () => {
  const { response, write, received } = startResponse();
  write('{"type":');
  response.endSoon();
  write('"AD');
  assert.equal(write('DED"}\n{"type":"MOD'), true);
  assert.equal(received(), '{"type":"ADDED"}\n<end>');
});

test('what comes behind its end is dropped, and its own end is no second one', () => {
  const { response, write, received } = startResponse();
  response.endSoon();
  assert.equal(write('{"type":"ADDED"}\n'), true);
  response.end();
  response.breakOff(new Error('the client has gone'));
  response.cut();
  assert.equal(received(), '<end>');
});

test('a watch that does not come to the end of its event is broken off in the end', () => {
  const { response, write, received } = startResponse();
  write('{"type":');
  response.endSoon();
  response.cut();
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
    const { response, streams, write, received } = startResponse(options);
    write('line\n');
    response.endSoon();
    write('line\n');
    assert.equal(received(), 'line\nline\n');
    assert.equal(streams.size, 1);
    response.cut();
    assert.equal(received(), 'line\nline\n<broken off>');
  });
}

test('a response that has ended by itself is in no shutdown’s way', () => {
  const { response, streams } = startResponse();
  response.end();
  response.release();
  assert.equal(streams.size, 0);
});
