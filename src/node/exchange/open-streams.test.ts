import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type OpenStream, OpenStreams } from './open-streams.ts';

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

test('streams that would go elsewhere by now end one after another, and none that is back in its place', (context) => {
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
