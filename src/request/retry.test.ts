import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maySafelyTryAnother, RetryBudget } from './retry.ts';
import { TransportError, type TransportErrorCode } from './transport-error.ts';

const failed = (code: TransportErrorCode, requestMayHaveArrived: boolean) =>
  new TransportError(code, 'no response', { requestMayHaveArrived });

test('any request that provably reached nobody may go to another server', () => {
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
    assert.equal(maySafelyTryAnother(method, method !== 'GET', failed('ConnectFailed', false)), true);
  }
});

test('a write that may have arrived is never sent twice', () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    assert.equal(maySafelyTryAnother(method, false, failed('ConnectionClosed', true)), false);
  }
});

test('a read without a body may be asked again, one with a body may not', () => {
  assert.equal(maySafelyTryAnother('GET', false, failed('ConnectionClosed', true)), true);
  assert.equal(maySafelyTryAnother('HEAD', false, failed('Timeout', true)), true);
  assert.equal(maySafelyTryAnother('GET', true, failed('ConnectionClosed', true)), false);
});

test('a command that may have begun is not run again: exec, attach and port-forward are GETs over WebSockets', () => {
  for (const subresource of ['exec', 'attach', 'portforward']) {
    assert.equal(maySafelyTryAnother('GET', false, failed('ConnectionClosed', true), subresource), false);
    assert.equal(maySafelyTryAnother('GET', false, failed('ConnectFailed', false), subresource), true);
  }
  assert.equal(maySafelyTryAnother('GET', false, failed('ConnectionClosed', true), 'log'), true);
});

test('nothing is tried again for a client that is gone', () => {
  assert.equal(maySafelyTryAnother('GET', false, failed('ClientGone', false)), false);
});

test('second tries are bounded to a fifth of the requests once the reserve is used up', () => {
  const budget = new RetryBudget();
  let tries = 0;
  for (let request = 0; request < 1000; request++) {
    budget.deposit();
    if (budget.withdraw()) tries += 1;
  }
  assert.ok(tries >= 200 && tries <= 211, `${tries} second tries for 1000 requests`);
});
