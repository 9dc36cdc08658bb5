import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { type InboundRequest, RequestRecord } from '../request/inbound.ts';
import { type Outcome, sent } from '../request/transport.ts';
import type { Caller } from '../request/user-info.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { type InFlightLimits, RequestGate, type RequestKind, requestKindOf } from './request-gate.ts';

const passthrough: Caller = { kind: 'passthrough' };
const memberOf = (group: string): Caller => ({
  kind: 'authenticated',
  user: { name: 'alice', uid: '', groups: [group], extra: new Map() },
  authenticator: 'x509',
  viaVerifiedPeer: false,
});

/** A request, and what ends it. */
function requestOf(
  caller: Caller = passthrough,
  more: Partial<InboundRequest> = {},
  [method, target] = requests.readOnly,
) {
  let finished = (): void => {};
  const inbound: InboundRequest = {
    method,
    target,
    headers: [],
    connection: {},
    body: () => null,
    signal: new AbortController().signal,
    onFinished(listener) {
      finished = listener;
    },
    ...more,
  };
  const request: AdmittedRequest = {
    inbound,
    requestInfo: parseRequestInfo(method, target),
    caller,
    view: { snapshot: undefined, known: undefined, local: undefined },
    decision: { decision: 'local', reason: 'ServedLocally', candidates: [] },
  };
  return { request, end: () => finished() };
}

const requests: Readonly<Record<RequestKind, readonly [method: string, target: string]>> = {
  readOnly: ['GET', '/api/v1/pods'],
  mutating: ['POST', '/api/v1/namespaces/a/pods'],
  longRunning: ['GET', '/api/v1/pods?watch=true'],
};

const response = sent(200);
const served = async (): Promise<Outcome> => response;

/** @returns what ends a request that was let in; `undefined`: it was turned away */
function enter(
  gate: RequestGate,
  kind: RequestKind,
  caller: boolean | Caller = false,
): (() => void) | undefined {
  const { request, end } = requestOf(
    typeof caller === 'object' ? caller : caller ? memberOf('system:masters') : passthrough,
    {},
    requests[kind],
  );
  let isIn = false;
  void gate.pass(request, () => {
    isIn = true;
    return served();
  });
  return isIn ? end : undefined;
}

async function refusal(answer: Promise<Outcome>): Promise<{ retryAfter: string | null; body: unknown }> {
  const outcome = await answer;
  assert.ok(outcome.kind === 'response' && !outcome.isPassedOn);
  const { response } = outcome;
  assert.equal(response.status, 429);
  return { retryAfter: response.headers.get('retry-after'), body: await response.json() };
}

test('a request too many is a 429 Status with Retry-After, until one before it has ended', async () => {
  const gate = new RequestGate({ readOnly: 1, mutating: 0, longRunning: 0 });
  const first = requestOf();
  assert.equal(await gate.pass(first.request, served), response);
  const { retryAfter, body } = await refusal(gate.pass(requestOf().request, () => assert.fail('was served')));
  assert.equal(retryAfter, '1');
  assert.deepEqual(body, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Too many requests, please try again later.',
    reason: 'TooManyRequests',
    details: { retryAfterSeconds: 1 },
    code: 429,
  });
  // The head of the response is out, its body is not.
  assert.equal(gate.count('readOnly'), 1);
  first.end();
  assert.equal(await gate.pass(requestOf().request, served), response);
});

test('system:masters gets in whatever there is', async () => {
  const gate = new RequestGate({ readOnly: 1, mutating: 0, longRunning: 0 });
  await gate.pass(requestOf().request, served);
  await refusal(gate.pass(requestOf(memberOf('system:authenticated')).request, served));
  assert.equal(await gate.pass(requestOf(memberOf('system:masters')).request, served), response);
});

test('where the end of an exchange cannot be told, a request counts until its response, well or badly', async () => {
  const gate = new RequestGate({ readOnly: 1, mutating: 0, longRunning: 0 });
  const { onFinished: _, ...inbound } = requestOf().request.inbound;
  const request = { ...requestOf().request, inbound };
  await gate.pass(request, served);
  await assert.rejects(gate.pass(request, () => Promise.reject(new Error('no response'))));
  assert.equal(gate.count('readOnly'), 0);
});

test('the record says why a request was turned away', async () => {
  const gate = new RequestGate({ readOnly: 1, mutating: 0, longRunning: 0 });
  const turnedAway = async () => {
    const { request } = requestOf();
    request.inbound.record = new RequestRecord(request.inbound, [], () => 0);
    await refusal(gate.pass(request, served));
    return request.inbound.record.dropped;
  };
  await gate.pass(requestOf().request, served);
  assert.equal(await turnedAway(), 'Overloaded');
});

const noInFlightLimits: InFlightLimits = { readOnly: 0, mutating: 0, longRunning: 0 };

test('requests count as kube-apiserver counts them', () => {
  const kinds = (
    [
      ['GET', '/api/v1/pods'],
      ['GET', '/api/v1/namespaces/a/pods/b'],
      ['HEAD', '/version'],
      ['GET', '/openapi/v2'],
      ['POST', '/api/v1/namespaces/a/pods'],
      ['DELETE', '/api/v1/namespaces/a/pods'],
      ['PATCH', '/api/v1/namespaces/a/pods/b'],
      ['GET', '/api/v1/pods?watch=true'],
      ['GET', '/api/v1/namespaces/a/pods/b/log?follow=true'],
      ['POST', '/api/v1/namespaces/a/pods/b/exec?command=sh'],
    ] as const
  ).map(([method, target]) => requestKindOf(parseRequestInfo(method, target)));
  assert.deepEqual(kinds, [
    ...['readOnly', 'readOnly', 'readOnly', 'readOnly'],
    ...['mutating', 'mutating', 'mutating'],
    ...['longRunning', 'longRunning', 'longRunning'],
  ]);
});

test('each kind has its own limit, and a request that ends makes room', () => {
  const inFlight = new RequestGate({ readOnly: 1, mutating: 1, longRunning: 1 });
  const leave = enter(inFlight, 'readOnly');
  assert.equal(enter(inFlight, 'readOnly'), undefined);
  assert.ok(enter(inFlight, 'mutating'));
  assert.ok(enter(inFlight, 'longRunning'));
  leave?.();
  assert.ok(enter(inFlight, 'readOnly'));
});

test('who is exempt gets in, and counts', () => {
  const inFlight = new RequestGate({ ...noInFlightLimits, mutating: 1 });
  enter(inFlight, 'mutating', true);
  assert.ok(enter(inFlight, 'mutating', true));
  assert.equal(inFlight.count('mutating'), 2);
  assert.equal(enter(inFlight, 'mutating'), undefined);
});

test('attack: callers without a verified certificate leave a quarter of each limit to those with one', () => {
  const inFlight = new RequestGate({ readOnly: 8, mutating: 8, longRunning: 8 });
  for (const kind of ['readOnly', 'mutating', 'longRunning'] as const) {
    for (let request = 0; request < 6; request++) assert.ok(enter(inFlight, kind));
    assert.equal(enter(inFlight, kind), undefined);
    assert.ok(enter(inFlight, kind, memberOf('system:nodes')));
    assert.ok(enter(inFlight, kind, memberOf('system:nodes')));
    assert.equal(enter(inFlight, kind, memberOf('system:nodes')), undefined);
  }
});

test('attack: a whole response that its client does not take holds no place', () => {
  const inFlight = new RequestGate({ readOnly: 1, mutating: 1, longRunning: 1 });
  let isWhole = (): void => {};
  const onWhole = (listener: () => void): void => {
    isWhole = listener;
  };
  const { request } = requestOf(memberOf('developers'), { onWhole });
  void inFlight.pass(request, served);
  assert.equal(inFlight.count('readOnly'), 1);
  isWhole();
  assert.equal(inFlight.count('readOnly'), 0);
});

test('0 is no limit', () => {
  const inFlight = new RequestGate(noInFlightLimits);
  for (let request = 0; request < 10_000; request++) assert.ok(enter(inFlight, 'longRunning'));
});

test('whatever comes and goes, the count is that of the requests under way and never above the limit', () => {
  const kind = fc.constantFrom<RequestKind>('readOnly', 'mutating', 'longRunning');
  const step = fc.record({ kind, ends: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 5 }), (steps, limit) => {
      const inFlight = new RequestGate({ readOnly: limit, mutating: limit, longRunning: limit });
      const underWay: Record<RequestKind, (() => void)[]> = { readOnly: [], mutating: [], longRunning: [] };
      for (const { kind, ends } of steps) {
        if (ends) {
          underWay[kind].pop()?.();
        } else {
          const leave = enter(inFlight, kind, memberOf('developers'));
          assert.equal(leave === undefined, underWay[kind].length === limit);
          if (leave !== undefined) underWay[kind].push(leave);
        }
        assert.equal(inFlight.count(kind), underWay[kind].length);
      }
    }),
  );
});
