import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startChild } from '../../test/support/commands/child-process.ts';
import { Cleanup, withCleanup } from './cleanup.ts';
import { countFrom, namesFrom, secondsFrom, UsageError, usageOf } from './command-line.ts';

test('names come in the order of the tables, whatever the order they were given in', () => {
  assert.deepEqual(namesFrom('only', 'c, a', ['a', 'b', 'c']), ['a', 'c']);
  assert.deepEqual(namesFrom('only', undefined, ['a', 'b']), ['a', 'b']);
});

test('an unknown name is told with those that there are', () => {
  assert.throws(
    () => namesFrom('only', 'a,envoy', ['a', 'b']),
    /--only: there is no envoy\. Choose from a, b\./,
  );
});

test('counts are whole numbers of at least one', () => {
  assert.equal(countFrom('rounds', '4'), 4);
  for (const wrong of ['0', '-1', '1.5', 'many', '']) {
    assert.throws(() => countFrom('rounds', wrong), UsageError, wrong);
  }
});

test('seconds of a load are tenths, and more than none', () => {
  // 1.1 * 10 is 11.000000000000002.
  for (const right of ['1.1', '0.4', '2', '10.0']) assert.equal(secondsFrom('seconds', right), Number(right));
  for (const wrong of ['0', '0.0', '-1', '0.45', '1e3', 'many', '', ' 1', 'Infinity']) {
    assert.throws(() => secondsFrom('seconds', wrong), UsageError, wrong);
  }
});

test('the help of an experiment has each option, what it takes, and its default', () => {
  const options = {
    rounds: { type: 'string', default: '3', value: 'N', about: 'how many' },
    quick: { type: 'boolean', default: false, about: 'one only' },
  } as const;
  assert.equal(
    usageOf('bench', options),
    'npm run lab -- bench [options]\n  --rounds N  how many (3)\n  --quick     one only',
  );
});

test('everything is cleaned up, the last opened first, also when something fails', async () => {
  const order: string[] = [];
  const working = withCleanup(async (cleanup) => {
    cleanup.add(() => order.push('first'));
    cleanup.add(async () => order.push('second'));
    throw new Error('the work failed');
  });
  await assert.rejects(working, /the work failed/);
  assert.deepEqual(order, ['second', 'first']);
});

test('one step that fails does not keep the others from being taken', async () => {
  const order: string[] = [];
  const cleanup = new Cleanup();
  cleanup.add(() => order.push('taken'));
  cleanup.add(() => Promise.reject(new Error('cannot be stopped')));
  await assert.rejects(cleanup.run(), AggregateError);
  assert.deepEqual(order, ['taken']);
});

test('a process that is told to end undoes what is nested first, and then ends', async () => {
  const module = join(import.meta.dirname, 'cleanup.ts');
  const program = `
    import { setTimeout as sleep } from 'node:timers/promises';
    import { withCleanup } from ${JSON.stringify(module)};
    await withCleanup(async (outer) => {
      outer.add(() => console.log('outer'));
      await withCleanup(async (inner) => {
        inner.add(async () => { await sleep(20); console.log('inner'); });
        console.log('ready');
        await sleep(60_000);
      });
    });`;
  const child = await startChild({
    executable: process.execPath,
    arguments: ['--input-type=module', '--eval', program],
  });
  assert.equal(await child.nextLine(), 'ready');
  await child.stop();
  assert.deepEqual(await child.ended, { code: 143, output: 'ready\ninner\nouter' });
});
