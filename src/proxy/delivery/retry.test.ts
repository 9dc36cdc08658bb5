import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RetryBudget } from './other-servers.ts';

test('second tries are bounded to a fifth of the requests once the reserve is used up', () => {
  const budget = new RetryBudget();
  let tries = 0;
  for (let request = 0; request < 1000; request++) {
    budget.deposit();
    if (budget.withdraw()) tries += 1;
  }
  assert.ok(tries >= 200 && tries <= 211, `${tries} second tries for 1000 requests`);
});
