import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type InboundRequest, type RequestObserver, RequestRecord } from './inbound.ts';

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
    responded: ({ status }) => calls.push(`${name}responded ${status}`),
    finished: () => calls.push(`${name}finished`),
  };
}

const clock = () => 0;

test('the head of the response is told once, with the first code', () => {
  const calls: string[] = [];
  let end = (): void => {};
  const inbound = inboundWith((listener) => {
    end = listener;
  });
  const record = new RequestRecord(inbound, [recorder(calls)], clock);
  record.responded(404);
  record.responded(200);
  end();
  end();
  record.responded(500);
  assert.deepEqual(calls, ['responded 404', 'finished']);
});

test('where the runtime cannot tell the end, it comes behind the response', () => {
  const calls: string[] = [];
  new RequestRecord(inboundWith(), [recorder(calls)], clock).responded(200);
  assert.deepEqual(calls, ['responded 200', 'finished']);
});

test('a client that is gone is told as finished without a response', () => {
  const calls: string[] = [];
  const inbound = inboundWith((listener) => listener());
  assert.equal(new RequestRecord(inbound, [recorder(calls)], clock).status, 0);
  assert.deepEqual(calls, ['finished']);
});

test('several observers are told in their order', () => {
  const calls: string[] = [];
  new RequestRecord(inboundWith(), [recorder(calls, 'a '), recorder(calls, 'b ')], clock).responded(200);
  assert.deepEqual(calls, ['a responded 200', 'b responded 200', 'a finished', 'b finished']);
});

test('an attempt that fails behind the head of its response is told once, and keeps both', () => {
  let told = 0;
  const record = new RequestRecord(inboundWith(), [{ attempted: () => void told++ }], clock);
  record.attemptBegun({
    kind: 'peer',
    id: 'b',
    origin: 'https://10.0.0.2:6443',
    serverName: 'kubernetes.default.svc',
    trust: { kind: 'peer-ca' },
  });
  record.attemptEnded(200);
  record.attemptEnded('ConnectionClosed');
  assert.equal(told, 1);
  const [{ status, failure } = assert.fail()] = record.attempts;
  assert.deepEqual([status, failure], [200, 'ConnectionClosed']);
});
