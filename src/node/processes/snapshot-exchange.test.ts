import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { silentLogger } from '../../observe/logger.ts';
import { createMemorySnapshotStore } from '../../snapshot/memory-snapshot-store.ts';
import type { SnapshotStore } from '../../snapshot/snapshot-store.ts';
import { SnapshotExchange, tagAtStart } from './snapshot-exchange.ts';

const old = { snapshot: 'old' };
const next = { snapshot: 'next', renewal: 'renewed' };

test('a process that asks for the first time gets what is in the file', async () => {
  const exchange = new SnapshotExchange(createMemorySnapshotStore(old), silentLogger);
  assert.deepEqual(await exchange.changed(''), { tag: tagAtStart, stored: old });
  assert.equal(await exchange.changed(tagAtStart), null);
});

test('what is saved goes to the file and to all others, and is there for a process that starts later', async () => {
  const store = createMemorySnapshotStore(old);
  const exchange = new SnapshotExchange(store, silentLogger);
  await exchange.changed('');
  const told: number[] = [];
  const others = [2, 3].map((number) => ({
    number,
    async catchUp() {
      const change = await exchange.changed(tagAtStart);
      assert.deepEqual(change?.stored, next);
      told.push(number);
    },
  }));
  const saved = await exchange.save(tagAtStart, next, others);
  assert.deepEqual(saved, { result: 'saved', tag: '1', fault: null });
  assert.deepEqual(told, [2, 3]);
  assert.deepEqual(await store.load(), next);
  assert.deepEqual(await exchange.changed(''), { tag: '1', stored: next });
});

test('who does not know what is stored by now may not replace it', async () => {
  const exchange = new SnapshotExchange(createMemorySnapshotStore(old), silentLogger);
  await exchange.changed('');
  const [first, second] = await Promise.all([
    exchange.save(tagAtStart, next, []),
    exchange.save(tagAtStart, { snapshot: 'other' }, []),
  ]);
  assert.equal(first.result, 'saved');
  assert.equal(second.result, 'changed');
  assert.deepEqual((await exchange.changed(''))?.stored, next);
});

test('a process that does not take the snapshot in time holds up nobody, and is told of', async () => {
  const { logger, lines } = recordingLogger();
  const exchange = new SnapshotExchange(createMemorySnapshotStore(), logger);
  await exchange.changed('');
  const late = { number: 2, catchUp: () => Promise.reject(new Error('no answer within 5000 ms')) };
  assert.equal((await exchange.save(tagAtStart, next, [late])).result, 'saved');
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, fields['otherProcess']]),
    [['warn', 2]],
  );
});

test('a file that cannot be read or written keeps nobody from using a pushed snapshot', async () => {
  const broken: SnapshotStore = {
    load: () => Promise.reject(new Error('EACCES')),
    save: () => Promise.reject(new Error('ENOSPC')),
  };
  const exchange = new SnapshotExchange(broken, silentLogger);
  await assert.rejects(exchange.changed(''), /EACCES/);
  const saved = await exchange.save(tagAtStart, next, []);
  assert.deepEqual(saved, { result: 'saved', tag: '1', fault: 'ENOSPC' });
  assert.deepEqual(await exchange.changed(tagAtStart), { tag: '1', stored: next });
});

test('attack: a file that is read late does not take the place of what was pushed meanwhile', async () => {
  const file = Promise.withResolvers<typeof old>();
  const slow: SnapshotStore = { load: () => file.promise, save: () => Promise.resolve() };
  const exchange = new SnapshotExchange(slow, silentLogger);
  const asked = exchange.changed('');
  assert.equal((await exchange.save(tagAtStart, next, [])).result, 'saved');
  file.resolve(old);
  assert.deepEqual(await asked, { tag: '1', stored: next });
  assert.deepEqual(await exchange.changed(''), { tag: '1', stored: next });
});
