import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeySet } from '../../identity/jwt/key-set.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { IsolateKeys } from './isolate-keys.ts';

const keySet: KeySet = [];

test('a load that never ends keeps no later request from loading, and the issuer from being flooded', async () => {
  const clock = { now: 0 };
  let loads = 0;
  const keys = new IsolateKeys({
    issuer: 'https://issuer.example',
    load: () => (++loads === 1 ? new Promise(() => {}) : Promise.resolve(keySet)),
    clock: () => clock.now,
    logger: silentLogger,
  });
  void keys.current();
  assert.equal(await keys.current(), keySet);
  assert.equal(loads, 2);
  const hanging = new IsolateKeys({
    issuer: 'https://issuer.example',
    load: () => {
      loads++;
      return new Promise(() => {});
    },
    clock: () => clock.now,
    logger: silentLogger,
  });
  loads = 0;
  for (let request = 0; request < 10; request++) void hanging.refresh();
  assert.equal(loads, 3);
  clock.now += 20_000;
  void hanging.refresh();
  assert.equal(loads, 4);
});

test('keys that are due are loaded behind a request, and stay in use when they cannot be', async () => {
  const clock = { now: 0 };
  let loads = 0;
  const keys = new IsolateKeys({
    issuer: 'https://issuer.example',
    load: async () => {
      if (++loads > 1) throw new Error('unreachable');
      return keySet;
    },
    clock: () => clock.now,
    logger: silentLogger,
  });
  assert.equal(keys.renewal(), undefined);
  assert.equal(await keys.current(), keySet);
  assert.equal(keys.renewal(), undefined);
  clock.now += 600_000;
  await keys.renewal();
  assert.equal(loads, 2);
  assert.equal(await keys.current(), keySet);
  // An attempt that failed is not repeated at once.
  await keys.refresh();
  assert.equal(loads, 2);
});

test('without keys a token cannot be judged', async () => {
  const keys = new IsolateKeys({
    issuer: 'https://issuer.example',
    load: () => Promise.reject(new Error('unreachable')),
    logger: silentLogger,
  });
  await assert.rejects(keys.current(), { code: 'KeysUnavailable' });
});
