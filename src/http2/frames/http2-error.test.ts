import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionError, errorCodeName, Http2Error, malformedResponse } from './frame.ts';

test('codes have the names of RFC 9113 section 7, and unknown ones their number', () => {
  assert.equal(errorCodeName(0x0), 'NO_ERROR');
  assert.equal(errorCodeName(0x7), 'REFUSED_STREAM');
  assert.equal(errorCodeName(0xb), 'ENHANCE_YOUR_CALM');
  assert.equal(errorCodeName(0xfafafafa), '0xfafafafa');
});

test('an error says whether it ends a stream or the connection, and whether there may be a response', () => {
  const issue = connectionError(0x6, 'an error');
  assert.deepEqual(
    [issue.scope, issue.code, issue.errorCode, issue.isInvalidResponse],
    ['connection', 'ERR_HTTP2_CLIENT_CONNECTION', 0x6, true],
  );
  const malformed = malformedResponse('an error');
  assert.deepEqual(
    [malformed.scope, malformed.code, malformed.errorCode, malformed.isInvalidResponse],
    ['stream', 'ERR_HTTP2_CLIENT_STREAM', 0x1, true],
  );
  assert.equal(malformedResponse('an error', 0x3).errorCode, 0x3);
  assert.equal(new Http2Error('stream', 0x8, 'reset').isInvalidResponse, false);
});
