import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type Account, MemoryBudget } from './held-bytes.ts';

interface Client {
  readonly account: Account;
  isEnded: boolean;
}

/** A budget of 1,000 bytes, of which 875 may be held; 437 by clients without a certificate. */
function budgetOf(maximum = 1_000) {
  const time = { now: 0 };
  const budget = new MemoryBudget(maximum, () => time.now);
  const client = (name: string, isVerified = true): Client => {
    const made = {
      isEnded: false,
      account: budget.account({
        name,
        isVerified,
        connection: {
          giveUp() {
            made.isEnded = true;
          },
        },
      }),
    };
    return made;
  };
  const holding = (
    { account }: Client,
    bytes: number,
    kind: 'head' | 'content' | 'spare' | 'still' = 'content',
  ) => {
    const giveUp = (): void => {
      held.isGivenUp = true;
    };
    const held = { isGivenUp: false, holding: account[kind]({ giveUp }) };
    held.holding.add(bytes);
    return held;
  };
  return { time, budget, client, holding };
}

test('attack: heads of requests without a response fill the budget: who holds them ends, and nobody else', async () => {
  const { budget, client, holding } = budgetOf();
  const honest = client('honest');
  const upload = holding(honest, 60);
  const attackers = Array.from({ length: 9 }, () => client('attacker'));
  for (const { account } of attackers) account.add(100);
  await setImmediate();
  assert.deepEqual([honest.isEnded, upload.isGivenUp], [false, false]);
  assert.ok(attackers.some(({ isEnded }) => isEnded));
  assert.ok(budget.bytes <= 875);
});

test('attack: an identity that spreads over many small connections is counted as one', async () => {
  const { client } = budgetOf();
  const honest = client('honest');
  honest.account.add(60);
  const attackers = Array.from({ length: 41 }, () => client('attacker'));
  for (const { account } of attackers) account.add(20);
  await setImmediate();
  assert.equal(honest.isEnded, false, 'although its connection holds most');
  assert.ok(attackers.some(({ isEnded }) => isEnded));
});

test('attack: clients without a certificate hold half at most, and end among themselves', async () => {
  const { budget, client, holding } = budgetOf();
  const verified = client('verified');
  const content = holding(verified, 300);
  const anonymous = Array.from({ length: 5 }, (_, index) => client(`address ${index}`, false));
  for (const { account } of anonymous) account.add(100);
  await setImmediate();
  assert.deepEqual([verified.isEnded, content.isGivenUp], [false, false]);
  assert.equal(anonymous.filter(({ isEnded }) => isEnded).length, 1);
  assert.equal(budget.hasRoomFor(10, false), false);
  assert.equal(budget.hasRoomFor(10, true), true);
});

test('attack: heads without a response of many clients, of whom none stands out, end nobody else', async () => {
  const { budget, client, holding } = budgetOf();
  const upload = holding(client('honest'), 20);
  const attackers = Array.from({ length: 18 }, (_, index) => client(`attacker ${index}`));
  for (const { account } of attackers) account.add(50);
  await setImmediate();
  assert.equal(upload.isGivenUp, false);
  assert.equal(attackers.filter(({ isEnded }) => isEnded).length, 1);
  assert.ok(budget.bytes <= 875);
});

test('what flows is not given up for what stands still, however much it is', async () => {
  const { time, client, holding } = budgetOf();
  const flowing = holding(client('flowing'), 500);
  const standing = holding(client('standing'), 200);
  const third = client('third');
  holding(third, 176);
  await setImmediate();
  // Nobody had been looked at before: what has made no progress for longest went.
  assert.equal(flowing.isGivenUp, true);
  time.now = 2_000;
  const again = holding(client('flowing'), 500);
  holding(client('more'), 200);
  await setImmediate();
  assert.deepEqual([standing.isGivenUp, again.isGivenUp], [true, false]);
});

test('servers that share one budget are each told what their own connections were refused, and what ended there', async () => {
  const budget = new MemoryBudget(1_000);
  const told: string[] = [];
  const account = (server: string) =>
    budget.account({
      name: server,
      isVerified: true,
      connection: { giveUp: () => {} },
      onRelief: (relief) => told.push(`${server} ${relief}`),
    });
  const [first, second] = [account('first'), account('second')];
  first.add(500);
  assert.equal(second.admits(100), false);
  first.add(400);
  await setImmediate();
  assert.deepEqual(told, ['second refused', 'first ended']);
});

test('what can be done without goes first', async () => {
  const { client, holding } = budgetOf();
  const spare = holding(client('one'), 100, 'spare');
  const content = holding(client('two'), 780);
  await setImmediate();
  assert.deepEqual([spare.isGivenUp, content.isGivenUp], [true, false]);
});

test('a connection that has ended holds nothing, and what comes late counts for nobody', () => {
  const { budget, client, holding } = budgetOf();
  const one = client('one');
  one.account.add(100);
  const content = holding(one, 50);
  const late = one.account.head({ giveUp: () => {} });
  one.account.close();
  assert.deepEqual([budget.bytes, one.account.bytes], [0, 0]);
  content.holding.progressed();
  content.holding.add(70);
  late.add(10);
  one.account.add(-100);
  one.account.close();
  assert.deepEqual([budget.bytes, one.account.bytes, one.account.oldest], [0, 0, undefined]);
});

test('attack: what stands still for one connection counts for who holds most, although others have held for longer', async () => {
  const { client, holding } = budgetOf();
  const honest = holding(client('honest'), 300);
  const standing = holding(client('attacker'), 600, 'still');
  await setImmediate();
  assert.deepEqual([honest.isGivenUp, standing.isGivenUp], [false, true]);
});

test('whatever is added and taken, the sum is that of what is held, and in the end zero', async () => {
  const { budget, client } = budgetOf(1_000_000);
  const clients = Array.from({ length: 10 }, (_, index) => client(`owner ${index % 3}`, index % 2 === 0));
  const holdings = clients.flatMap(({ account }) =>
    (['head', 'content', 'spare'] as const).map((kind) => account[kind]({ giveUp: () => {} })),
  );
  let seed = 7;
  const draw = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let step = 0; step < 2_000; step++) {
    const holding = holdings[draw(holdings.length)];
    const account = clients[draw(clients.length)]?.account;
    holding?.set(draw(1_000));
    account?.add(draw(10));
    const sum = clients.reduce((all, each) => all + each.account.bytes, 0);
    assert.equal(budget.bytes, sum);
  }
  for (const holding of holdings) holding.end();
  for (const { account } of clients) account.close();
  assert.equal(budget.bytes, 0);
});
