import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { LongRunningResponse, type OpenStream, OpenStreams } from './open-streams.ts';
import type { ResponseSink } from './response-sink.ts';

/** Streams that note what became of them. */
function openStreams(count: number) {
  const streams = new OpenStreams();
  const ended: number[] = [];
  const cut: number[] = [];
  const opened: OpenStream[] = [];
  const open = (index: number): void => {
    const stream: OpenStream = { endSoon: () => ended.push(index), cut: () => cut.push(index) };
    opened.push(stream);
    streams.opened(stream);
  };
  for (let index = 0; index < count; index++) open(index);
  return { streams, ended, cut, opened, open };
}

function stopTime(context: TestContext): (milliseconds: number) => void {
  context.mock.timers.enable({ apis: ['setInterval'] });
  return (milliseconds) => context.mock.timers.tick(milliseconds);
}

test('streams end spread over the time they are given, all of them within it', (context) => {
  const pass = stopTime(context);
  const { streams, ended } = openStreams(1_000);
  let draw = 0;
  streams.end({ over: 1_000, random: () => (draw++ % 1_000) / 1_000 });
  const counts: number[] = [];
  for (let slice = 0; slice < 10; slice++) {
    pass(100);
    counts.push(ended.length);
  }
  assert.deepEqual(counts, [100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000]);
  assert.equal(new Set(ended).size, 1_000);
});

test('without any time they all end at once', () => {
  const { streams, ended } = openStreams(3);
  streams.end({ over: 0 });
  assert.deepEqual(ended, [0, 1, 2]);
});

test('one that has closed meanwhile is left alone', (context) => {
  const pass = stopTime(context);
  const { streams, ended, opened } = openStreams(2);
  streams.end({ over: 100, random: () => 0 });
  const [first] = opened;
  assert.ok(first);
  streams.closed(first);
  pass(100);
  assert.deepEqual(ended, [1]);
  assert.equal(streams.size, 1);
});

test('one that opens while the others end is ended, too, also behind the last of them', (context) => {
  const pass = stopTime(context);
  const { streams, ended, open } = openStreams(1);
  streams.end({ over: 200, random: () => 0 });
  pass(100);
  open(1);
  assert.deepEqual(ended, [0]);
  pass(100);
  assert.deepEqual(ended, [0, 1]);
  open(2);
  assert.deepEqual(ended, [0, 1, 2]);
});

test('what is still open when the time is over is cut', (context) => {
  const pass = stopTime(context);
  const { streams, ended, cut, opened } = openStreams(2);
  streams.end({ over: 1_000, random: () => 0 });
  pass(100);
  const [first] = opened;
  assert.ok(first);
  streams.closed(first);
  streams.cut();
  assert.deepEqual(cut, [1]);
  pass(10_000);
  assert.deepEqual(ended, [0, 1], 'nothing more happens');
});

test('streams that another server should serve now end one after another; those that may stay do not', (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] });
  const streams = new OpenStreams();
  const ended: string[] = [];
  const misplaced = new Set(['a', 'b', 'c']);
  const open = (name: string): OpenStream => ({
    isMisplaced: () => misplaced.has(name),
    endSoon: () => {
      ended.push(name);
    },
    cut: () => {},
  });
  for (const name of ['a', 'b', 'c', 'stays']) streams.opened(open(name));
  streams.opened({ endSoon: () => ended.push('a tunnel'), cut: () => {} });
  let turn = 0;
  const randoms = [0, 0.5, 0.99];
  streams.endMisplaced({ over: 300, random: () => randoms[turn++] ?? 0 });
  assert.deepEqual(ended, []);
  context.mock.timers.tick(100);
  assert.deepEqual(ended, ['a']);
  misplaced.delete('c');
  context.mock.timers.tick(1_000);
  assert.deepEqual(ended, ['a', 'b']);
});

test('a call puts off no look of the call before', (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] });
  const streams = new OpenStreams();
  let ended = 0;
  let isMisplaced = false;
  streams.opened({ isMisplaced: () => isMisplaced, endSoon: () => ended++, cut: () => {} });
  streams.endMisplaced({ over: 1_000, random: () => 0.5 });
  context.mock.timers.tick(400);
  streams.endMisplaced({ over: 5_000, random: () => 0.99 });
  isMisplaced = true;
  context.mock.timers.tick(300);
  assert.equal(ended, 1);
});

const json: RawHeaders = ['Content-Type', 'application/json'];

/** A response whose client's side is a string. */
function startResponse(
  options: { isWatch?: boolean; status?: number; headers?: RawHeaders; isOfBefore?: () => boolean } = {},
) {
  const { isWatch = true, status = 200, headers = json, isOfBefore } = options;
  let received = '';
  const sink: ResponseSink = {
    attach() {},
    release() {},
    respond() {},
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
  const response = new LongRunningResponse(sink, { isWatch, isOfBefore }, streams);
  response.respond(status, headers);
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

test('data after its end is dropped, and its own end is not sent twice', () => {
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

test('a router that stood still passes on no event that has come meanwhile, and no rest of one', () => {
  let isOfBefore = false;
  for (const [begun, received] of [
    ['{"type":"ADDED"}\n', '{"type":"ADDED"}\n<end>'],
    ['{"type":', '{"type":<broken off>'],
  ] as const) {
    const response = startResponse({ isOfBefore: () => isOfBefore });
    isOfBefore = false;
    response.write(begun);
    isOfBefore = true;
    assert.equal(response.write('{"type":"MODIFIED"}\n'), true);
    assert.equal(response.received(), received);
    assert.equal(response.streams.size, 0);
  }
});

test('a watch whose server is lost ends between two events, so that informers watch on and list nothing anew', () => {
  const { response, write, received } = startResponse();
  write('{"type":"ADDED"}\n');
  response.breakOff(new Error('the connection was lost'));
  assert.equal(received(), '{"type":"ADDED"}\n<end>');
});

test('a watch whose server is lost within an event is broken off: its client must not take a part for the whole', () => {
  const { response, write, received } = startResponse();
  write('{"type":"ADDED"}\n{"type":');
  response.breakOff(new Error('the connection was lost'));
  assert.equal(received(), '{"type":"ADDED"}\n{"type":<broken off>');
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

test('a response that has ended by itself does not delay a shutdown', () => {
  const { response, streams } = startResponse();
  response.end();
  response.release();
  assert.equal(streams.size, 0);
});
