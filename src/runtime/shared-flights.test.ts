import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SharedFlights } from './shared-flights.ts';

describe('work that several want at the same time', () => {
  test('is done once, and whoever comes later does it anew', async () => {
    const flights = new SharedFlights<number>();
    const gate = Promise.withResolvers<void>();
    let done = 0;
    const work = async (): Promise<number> => {
      await gate.promise;
      return ++done;
    };
    const all = Array.from({ length: 100 }, () => flights.once('a', work));
    const other = flights.once('b', async () => 7);
    assert.equal(await other, 7, 'another key waits for nobody');
    gate.resolve();
    assert.deepEqual(new Set(await Promise.all(all)), new Set([1]));
    assert.equal(await flights.once('a', work), 2);
  });

  test('is done by the next one when it fails: only who did it is told', async () => {
    const flights = new SharedFlights<string>();
    const gate = Promise.withResolvers<void>();
    let tried = 0;
    const work = async (): Promise<string> => {
      tried += 1;
      await gate.promise;
      if (tried === 1) throw new Error('broken off');
      return 'well';
    };
    const first = flights.once('a', work);
    const others = [flights.once('a', work), flights.once('a', work)];
    gate.resolve();
    await assert.rejects(first, /broken off/);
    assert.deepEqual(await Promise.all(others), ['well', 'well']);
  });

  test('is done by the next one when the first does not end it', async (context) => {
    let now = 0;
    context.mock.method(performance, 'now', () => now);
    const flights = new SharedFlights<string>();
    void flights.once('a', () => new Promise<never>(() => {}));
    const waiting = flights.once('a', async () => 'mine');
    now = 10_000;
    assert.equal(await waiting, 'mine');
  });
});
