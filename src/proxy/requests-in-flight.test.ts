import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { type InFlightLimits, RequestGate, type RequestKind, requestKindOf } from './request-gate.ts';

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
  const leave = inFlight.enter('readOnly', false);
  assert.equal(inFlight.enter('readOnly', false), undefined);
  assert.ok(inFlight.enter('mutating', false));
  assert.ok(inFlight.enter('longRunning', false));
  leave?.();
  assert.ok(inFlight.enter('readOnly', false));
  assert.equal(inFlight.rejected('readOnly'), 1);
  assert.equal(inFlight.rejected('mutating'), 0);
});

test('who is exempt gets in, and counts', () => {
  const inFlight = new RequestGate({ ...noInFlightLimits, mutating: 1 });
  inFlight.enter('mutating', true);
  assert.ok(inFlight.enter('mutating', true));
  assert.equal(inFlight.count('mutating'), 2);
  assert.equal(inFlight.enter('mutating', false), undefined);
});

test('0 is no limit', () => {
  const inFlight = new RequestGate(noInFlightLimits);
  for (let request = 0; request < 10_000; request++) assert.ok(inFlight.enter('longRunning', false));
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
          const leave = inFlight.enter(kind, false);
          assert.equal(leave === undefined, underWay[kind].length === limit);
          if (leave !== undefined) underWay[kind].push(leave);
        }
        assert.equal(inFlight.count(kind), underWay[kind].length);
      }
    }),
  );
});
