import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionFault, errorCodeName, Http2Error, malformedAnswer } from './http2-error.ts';

test('codes have the names of RFC 9113 section 7, and those that nobody knows their number', () => {
  assert.equal(errorCodeName(0x0), 'NO_ERROR');
  assert.equal(errorCodeName(0x7), 'REFUSED_STREAM');
  assert.equal(errorCodeName(0xb), 'ENHANCE_YOUR_CALM');
  assert.equal(errorCodeName(0xfafafafa), '0xfafafafa');
});

test('an error says whether it ends a stream or the connection, and whether there may be an answer', () => {
  const fault = connectionFault(0x6, 'a fault');
  assert.deepEqual(
    [fault.scope, fault.code, fault.errorCode, fault.isInvalidAnswer],
    ['connection', 'ERR_HTTP2_CLIENT_CONNECTION', 0x6, true],
  );
  const malformed = malformedAnswer('a fault');
  assert.deepEqual(
    [malformed.scope, malformed.code, malformed.errorCode, malformed.isInvalidAnswer],
    ['stream', 'ERR_HTTP2_CLIENT_STREAM', 0x1, true],
  );
  assert.equal(malformedAnswer('a fault', 0x3).errorCode, 0x3);
  assert.equal(new Http2Error('stream', 0x8, 'reset').isInvalidAnswer, false);
});
