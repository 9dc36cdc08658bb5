import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { inboundRequest } from '../../../test/support/inbound-request.ts';
import { parseRequestInfo } from '../../apimachinery/request-info.ts';
import type { Caller } from '../../request/user-info.ts';
import { isTraceContextTrusted, readTraceContext, spanName, traceContextLines } from './trace-context.ts';

const trace = '0af7651916cd43dd8448eb211c80319c';
const span = 'b7ad6b7169203331';

describe('a span name', () => {
  it('is the method and the path with its names left out', () => {
    for (const [method, target, expected] of [
      [
        'GET',
        '/apis/apps/v1/namespaces/a/deployments/b',
        'GET /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}',
      ],
      ['GET', '/api/v1/namespaces/a/pods/b/log', 'GET /api/v1/namespaces/{:namespace}/pods/{:name}/log'],
      ['POST', '/api/v1/namespaces/a/pods', 'POST /api/v1/namespaces/{:namespace}/pods'],
      ['GET', '/api/v1/nodes?watch=1', 'GET /api/v1/nodes'],
      ['GET', '/some/thing/else', 'GET'],
    ] as const) {
      assert.equal(spanName(method, parseRequestInfo(method, target)), expected);
    }
    assert.equal(spanName('GET', undefined), 'GET');
  });
});

describe('a trace context', () => {
  it('is read and written as W3C Trace Context has it', () => {
    const lines = ['traceparent', `00-${trace}-${span}-01`, 'tracestate', 'a=1', 'tracestate', 'b=2'];
    const context = readTraceContext(lines);
    assert.deepEqual(context, { traceId: trace, spanId: span, traceFlags: 1, traceState: 'a=1,b=2' });
    assert.deepEqual(context && traceContextLines(context), [
      'traceparent',
      `00-${trace}-${span}-01`,
      'tracestate',
      'a=1,b=2',
    ]);
  });

  it('is none where it is malformed, forbidden or not unique', () => {
    const good = `00-${trace}-${span}-01`;
    for (const value of [
      ...['', 'x', `00-${trace}-${span}`, `00-${trace.toUpperCase()}-${span}-01`, `${good}-more`],
      ...[`ff-${trace}-${span}-01`, `00-${'0'.repeat(32)}-${span}-01`, `00-${trace}-${'0'.repeat(16)}-01`],
    ]) {
      assert.equal(readTraceContext(['traceparent', value]), undefined, value);
    }
    assert.equal(readTraceContext(['traceparent', good, 'Traceparent', good]), undefined);
    assert.equal(readTraceContext(['tracestate', 'a=1']), undefined);
    assert.notEqual(readTraceContext(['traceparent', `01-${trace}-${span}-01-later`]), undefined);
  });

  it('whatever arrives, what leaves is well-formed', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^\w\w-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}.*$/)),
        (value) => {
          const context = readTraceContext(['traceparent', value]);
          if (context === undefined) return;
          assert.match(traceContextLines(context)[1] ?? '', /^00-[\da-f]{32}-[\da-f]{16}-0[01]$/);
        },
      ),
    );
  });

  it('is gone on with for privileged callers and for peers that rerouted, and for nobody else', () => {
    const caller = (groups: readonly string[], viaVerifiedPeer = false): Caller => ({
      kind: 'authenticated',
      user: { name: 'a', uid: '', groups, extra: new Map() },
      authenticator: 'x509',
      viaVerifiedPeer,
    });
    const plain = inboundRequest();
    const rerouted = inboundRequest(['x-kubernetes-peer-proxied', 'true']);
    assert.equal(isTraceContextTrusted(plain, caller(['system:masters'])), true);
    assert.equal(isTraceContextTrusted(plain, caller(['system:monitoring'])), true);
    assert.equal(isTraceContextTrusted(rerouted, caller(['dev'], true)), true);
    assert.equal(isTraceContextTrusted(rerouted, caller(['dev'])), false, 'a mark that anyone can write');
    assert.equal(isTraceContextTrusted(plain, caller(['dev'], true)), false, 'passed on by a front proxy');
    assert.equal(isTraceContextTrusted(rerouted, { kind: 'passthrough' }), false);
  });
});
