import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { mock, test } from 'node:test';
import type { DurableObjectState, SqlRow } from '../platform/bindings.ts';
import { ReplayObject } from './replay-object.ts';

/** A Durable Object's storage; another object over the same database is the object after a restart. */
function storage() {
  const database = new DatabaseSync(':memory:');
  const exec = (statement: string, ...bindings: readonly (string | number)[]): SqlRow[] =>
    database.prepare(statement).all(...bindings) as SqlRow[];
  const state: DurableObjectState = { storage: { sql: { exec }, transactionSync: (work) => work() } };
  return { state, exec };
}

const now = Math.floor(Date.UTC(2026, 0, 31, 12) / 1000);

async function take(object: ReplayObject, nonce: string, deadline: number | string): Promise<number> {
  const url = `https://replay-object/${nonce}?deadline=${deadline}`;
  return (await object.fetch(new Request(url, { method: 'PUT' }))).status;
}

test('a nonce is fresh once, and stays used after a restart', async () => {
  const { state } = storage();
  const object = new ReplayObject(state, {});
  assert.equal(await take(object, 'a', Date.now()), 204);
  assert.equal(await take(object, 'a', Date.now()), 409);
  assert.equal(await take(object, 'A', Date.now()), 204);
  assert.equal(await take(new ReplayObject(state, {}), 'a', Date.now()), 409);
});

test('what has expired is cleared away later, so that an isolate with a slow clock still finds it', async () => {
  mock.timers.enable({ apis: ['Date'], now: now * 1000 });
  try {
    const { state, exec } = storage();
    const object = new ReplayObject(state, {});
    await take(object, 'a', now + 65);
    mock.timers.setTime((now + 65 + 59) * 1000);
    assert.equal(await take(object, 'a', now + 65), 409);
    mock.timers.setTime((now + 65 + 59 + 31) * 1000);
    await take(object, 'b', now + 300);
    assert.deepEqual(
      exec('SELECT nonce FROM nonce').map(({ nonce }) => nonce),
      ['b'],
    );
  } finally {
    mock.timers.reset();
  }
});

test('a flood fills it, and what comes on top is refused instead of another forgotten', async () => {
  const { state, exec } = storage();
  const filled = new ReplayObject(state, {});
  const deadline = Math.floor(Date.now() / 1000) + 60;
  exec(
    `WITH RECURSIVE number (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < 262144)
     INSERT INTO nonce SELECT 'n' || value, ${deadline} FROM number`,
  );
  assert.equal(await take(filled, 'another', deadline), 429);
  assert.notEqual(await take(filled, 'n1', deadline), 204);
});

test('what is no nonce with a deadline is refused', async () => {
  const object = new ReplayObject(storage().state, {});
  for (const [nonce, deadline] of [
    ['', now],
    ['a', ''],
    ['a', 'soon'],
    ['a', -1],
    ['a', 1.5],
  ] as const) {
    assert.equal(await take(object, nonce, deadline), 400);
  }
  assert.equal((await object.fetch(new Request('https://replay-object/a?deadline=1'))).status, 400);
});
