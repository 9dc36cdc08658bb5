import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InboundRequest } from './inbound.ts';
import { observeRequest, type RequestObserver } from './request-observer.ts';

function inboundWith(onFinished?: InboundRequest['onFinished']): InboundRequest {
  return {
    method: 'GET',
    target: '/',
    headers: [],
    connection: {},
    body: () => null,
    signal: new AbortController().signal,
    ...(onFinished === undefined ? {} : { onFinished }),
  };
}

/** Writes down what it is told. */
function recorder(calls: string[], name = ''): RequestObserver {
  return {
    begin: () => ({
      dropped: (reason) => calls.push(`${name}dropped ${reason}`),
      responded: (status) => calls.push(`${name}answered ${status}`),
      finished: () => calls.push(`${name}finished`),
    }),
  };
}

test('the head of the response is told once, with the first code', () => {
  const calls: string[] = [];
  let end = (): void => {};
  const observed = observeRequest(
    [recorder(calls)],
    inboundWith((listener) => {
      end = listener;
    }),
  );
  observed?.responded(404);
  observed?.responded(200);
  end();
  end();
  observed?.responded(500);
  assert.deepEqual(calls, ['answered 404', 'finished']);
});

test('where the runtime cannot tell the end, it comes behind the response', () => {
  const calls: string[] = [];
  observeRequest([recorder(calls)], inboundWith())?.responded(200);
  assert.deepEqual(calls, ['answered 200', 'finished']);
});

test('a client that is gone is told as finished without a response', () => {
  const calls: string[] = [];
  observeRequest(
    [recorder(calls)],
    inboundWith((listener) => listener()),
  );
  assert.deepEqual(calls, ['finished']);
});

test('several observers are told in their order', () => {
  const calls: string[] = [];
  const observed = observeRequest([recorder(calls, 'a '), recorder(calls, 'b ')], inboundWith());
  observed?.dropped('Overloaded');
  assert.deepEqual(calls, ['a dropped Overloaded', 'b dropped Overloaded']);
});

test('a request that no observer wants to know of has nothing to tell', () => {
  assert.equal(observeRequest([], inboundWith()), undefined);
  assert.equal(observeRequest([{ begin: () => undefined }], inboundWith()), undefined);
});
