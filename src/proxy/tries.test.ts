import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { inboundRequest } from '../../test/support/routers/inbound-request.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { TransportError, type TransportErrorCode } from '../request/destination.ts';
import type { DecisionReason } from '../routing/decision.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { RetryBudget } from './other-servers.ts';
import { maySafelyTryAnother, othersToAsk } from './tries.ts';

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

const denied = { kind: 'refusal', reason: 'NotServed', response: new Response() } as const;
const ends = { ...denied, reason: 'Unavailable' } as const;
const silent = { kind: 'no response', error: failed('Timeout', true) } as const;
const refused = { kind: 'no response', error: failed('ConnectFailed', false) } as const;

describe('who else is asked', () => {
  const rows = [
    ['a server that ends', 'POST', 'ServedLocally', ends, 1, false],
    ['one that denies what the snapshot says it serves', 'POST', 'ServedLocally', denied, 1, false],
    ['one that denies what is the same for all', 'POST', 'CustomResource', denied, 3, false],
    ['one that received nothing of a write', 'POST', 'ServedLocally', refused, 1, true],
    ['one that is silent on a read', 'GET', 'ServedLocally', silent, 1, true],
    ['one that is silent on a write', 'POST', 'ServedLocally', silent, 0, false],
  ] as const;
  for (const [cameBackFrom, method, reason, result, atMost, isFromBudget] of rows) {
    it(`after ${cameBackFrom}: ${atMost} at most${isFromBudget ? ', from the budget' : ''}`, () => {
      const rule = othersToAsk(requestOf(method, reason), result);
      assert.deepEqual([rule.atMost, rule.isFromBudget], [atMost, isFromBudget]);
    });
  }
});

function requestOf(method: string, reason: DecisionReason): AdmittedRequest {
  return {
    inbound: { ...inboundRequest(), method },
    requestInfo: parseRequestInfo(method, '/api/v1/namespaces/a/pods'),
    caller: { kind: 'passthrough' },
    view: { snapshot: undefined, known: undefined, local: undefined },
    decision: { decision: 'local', reason, candidates: [] },
  };
}

test('second tries are bounded to a fifth of the requests once the reserve is used up', () => {
  const budget = new RetryBudget();
  let tries = 0;
  for (let request = 0; request < 1000; request++) {
    budget.deposit();
    if (budget.withdraw()) tries += 1;
  }
  assert.ok(tries >= 200 && tries <= 211, `${tries} second tries for 1000 requests`);
});
