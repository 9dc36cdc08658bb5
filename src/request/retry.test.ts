import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maySafelyTryAnother, RetryBudget } from './retry.ts';
import { TransportError, type TransportErrorCode } from './transport-error.ts';

const failed = (code: TransportErrorCode, mayHaveBeenProcessed: boolean) =>
  new TransportError(code, 'no response', { mayHaveBeenProcessed });

const asked = (method: string, { hasBody = false, subresource = '', isUpgrade = false } = {}) => ({
  inbound: {
    method,
    headers: [...(hasBody ? ['content-length', '2'] : []), ...(isUpgrade ? ['Upgrade', 'websocket'] : [])],
  },
  requestInfo: { subresource },
});

test('any request that provably reached nobody may go to another server', () => {
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
    assert.equal(
      maySafelyTryAnother(asked(method, { hasBody: method !== 'GET' }), failed('ConnectFailed', false)),
      true,
    );
  }
});

test('a write that may have arrived is never sent twice', () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    assert.equal(maySafelyTryAnother(asked(method), failed('ConnectionClosed', true)), false);
  }
});

test('a read without a body may be asked again, one with a body may not', () => {
  assert.equal(maySafelyTryAnother(asked('GET'), failed('ConnectionClosed', true)), true);
  assert.equal(maySafelyTryAnother(asked('HEAD'), failed('Timeout', true)), true);
  assert.equal(maySafelyTryAnother(asked('GET', { hasBody: true }), failed('ConnectionClosed', true)), false);
});

test('a command that may have begun is not run again: exec, attach and port-forward are GETs over WebSockets', () => {
  for (const subresource of ['exec', 'attach', 'portforward']) {
    const connect = asked('GET', { subresource });
    assert.equal(maySafelyTryAnother(connect, failed('ConnectionClosed', true)), false);
    assert.equal(maySafelyTryAnother(connect, failed('ConnectFailed', false)), true);
  }
  assert.equal(
    maySafelyTryAnother(asked('GET', { subresource: 'log' }), failed('ConnectionClosed', true)),
    true,
  );
});

test('a command that a kubelet may have begun behind nodes/proxy is not run again; what is read there may be', () => {
  const exec = asked('GET', { subresource: 'proxy', isUpgrade: true });
  assert.equal(maySafelyTryAnother(exec, failed('ConnectionClosed', true)), false);
  assert.equal(maySafelyTryAnother(exec, failed('ConnectFailed', false)), true);
  const read = asked('GET', { subresource: 'proxy' });
  assert.equal(maySafelyTryAnother(read, failed('ConnectionClosed', true)), true);
});

test('nothing is tried again for a client that is gone', () => {
  assert.equal(maySafelyTryAnother(asked('GET'), failed('ClientGone', false)), false);
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
