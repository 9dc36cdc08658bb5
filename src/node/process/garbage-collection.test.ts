import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { usableMemory } from '../exchange/serving-limits.ts';
import { giveBackFreedMemory } from './garbage-collection.ts';

/** Runs a script in a process of its own, in this directory. */
function run(script: string, flags: readonly string[] = []): { stdout: string; stderr: string } {
  return spawnSync(process.execPath, [...flags, '--input-type=module', '--eval', script], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
}

const setting = `
  import { setGarbageCollectorForServing } from './garbage-collection.ts';
  setGarbageCollectorForServing();`;

test('the V8 of this Node knows the settings of the garbage collector', () => {
  const { stdout, stderr } = run(`${setting} console.log('set');`);
  assert.equal(stdout, 'set\n');
  // V8 reports a setting that it does not know, and goes on.
  assert.equal(stderr, '');
});

test('a process that serves does not wait for a rest to collect all of its heap', () => {
  const allocateAndRest = `
    let kept;
    for (let round = 0; round < 20; round++) kept = Array.from({ length: 200_000 }, (_, index) => ({ index }));
    setTimeout(() => console.log(kept.length), 1_500);`;
  // V8 waits for 30 seconds after its start otherwise, and for 8 between two looks.
  const flags = [
    '--trace-memory-reducer',
    '--memory-reducer-for-small-heaps',
    '--gc-memory-reducer-start-delay-ms=10',
    '--memory-reducer-delay-ms=10',
  ];
  const waiting = /Memory reducer: waiting/;
  assert.match(run(allocateAndRest, flags).stdout, waiting);
  const { stdout } = run(`${setting} ${allocateAndRest}`, flags);
  assert.match(stdout, /^200000$/m);
  assert.doesNotMatch(stdout, waiting);
});

const isGlibc = 'glibcVersionRuntime' in Reflect.get(process.report.getReport(), 'header');

test('memory that native code has freed below what is still in use goes back to the system', {
  skip: !isGlibc,
}, () => {
  const { stdout } = run(`
    import { setFlagsFromString } from 'node:v8';
    import { runInNewContext } from 'node:vm';
    import { freedMemoryGiver } from './garbage-collection.ts';
    setFlagsFromString('--expose-gc');
    const give = await freedMemoryGiver();
    const inMebibytes = () => process.memoryUsage.rss() / 1024 / 1024;
    const buffers = Array.from({ length: 100_000 }, () => Buffer.allocUnsafeSlow(3_000).fill(1));
    const kept = buffers.filter((_, index) => index % 50 === 49);
    buffers.length = 0;
    const full = inMebibytes();
    runInNewContext('gc')();
    // V8 frees the memory of buffers on a thread of its own.
    for (let turn = 0; turn < 1_000 && full - inMebibytes() < 150; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      give();
    }
    console.log(kept.length, full - inMebibytes());`);
  const [kept, given = 0] = stdout.split(' ').map(Number);
  assert.equal(kept, 2_000);
  assert.ok(given >= 150, stdout);
});

for (const { takes, freed, calls, what } of [
  { takes: 0, freed: 0, calls: 12, what: 'that costs nothing' },
  { takes: 15, freed: usableMemory / 16, calls: 12, what: 'that gives back much' },
  { takes: 15, freed: 0, calls: 1, what: 'that stops the event loop for little' },
]) {
  test(`beyond half of the memory a call ${what} comes ${calls} times a minute`, async (context) => {
    context.mock.timers.enable({ apis: ['setInterval'] });
    let now = 0;
    context.mock.method(performance, 'now', () => now);
    let taken = 0;
    let count = 0;
    const give = () => {
      count++;
      taken -= freed;
      now += takes;
    };
    const stop = giveBackFreedMemory(
      async () => give,
      () => taken,
    );
    context.after(stop);
    const look = async () => {
      context.mock.timers.tick(5_000);
      await setImmediate();
    };
    await look();
    assert.equal(count, 0, 'less than half is taken');
    for (let seconds = 0; seconds < 60; seconds += 5) {
      taken = usableMemory * 0.6;
      await look();
    }
    assert.equal(count, calls);
    taken = usableMemory * 0.6;
    await look();
    assert.equal(count, calls + 1);
  });
}
