import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  changedSettings,
  connectionError,
  errorCodeName,
  Http2Error,
  initialSettings,
  malformedResponse,
  settingsFrame,
} from './frame.ts';

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

/** @param entries identifier, value, identifier, value, … (RFC 9113 section 6.5.1) */
function payload(...entries: number[]): Buffer {
  const bytes = Buffer.alloc(entries.length * 3);
  for (let index = 0; index < entries.length; index += 2) {
    bytes.writeUInt16BE(entries[index] ?? 0, index * 3);
    bytes.writeUInt32BE(entries[index + 1] ?? 0, index * 3 + 2);
  }
  return bytes;
}

function assertRefused(bytes: Buffer, code: number): void {
  assert.throws(
    () => changedSettings(initialSettings, bytes, 'server'),
    (error) => error instanceof Http2Error && error.scope === 'connection' && error.errorCode === code,
  );
}

test('each setting is read, and what is not named stays', () => {
  const first = changedSettings(
    initialSettings,
    payload(3, 250, 4, 262_144, 5, 1_048_576, 6, 1_048_896),
    'server',
  );
  assert.deepEqual(first, {
    maxConcurrentStreams: 250,
    initialWindowSize: 262_144,
    maxHeaderListSize: 1_048_896,
  });
  assert.deepEqual(changedSettings(first, payload(3, 0), 'server'), { ...first, maxConcurrentStreams: 0 });
  assert.deepEqual(changedSettings(first, payload(), 'server'), first);
});

test('of one setting twice the last one counts', () => {
  assert.equal(changedSettings(initialSettings, payload(4, 1, 4, 2), 'server').initialWindowSize, 2);
});

test('unknown settings are ignored, and so is the table size, which we do not use', () => {
  const bytes = payload(1, 4_294_967_295, 8, 1, 0xfafa, 4_294_967_295, 0, 0);
  assert.deepEqual(changedSettings(initialSettings, bytes, 'server'), initialSettings);
});

test('attack: part of an entry is refused', () => {
  for (const length of [1, 5, 7, 11]) assertRefused(Buffer.alloc(length), 0x6);
});

test('attack: values out of range are refused with the code that RFC 9113 section 6.5.2 names, and those at its ends are not', () => {
  assertRefused(payload(4, 2 ** 31), 0x3);
  assertRefused(payload(5, 16_383), 0x1);
  assertRefused(payload(5, 2 ** 24), 0x1);
  assertRefused(payload(2, 1), 0x1);
  assertRefused(payload(2, 2), 0x1);
  const accepted = changedSettings(
    initialSettings,
    payload(4, 2 ** 31 - 1, 5, 16_384, 5, 2 ** 24 - 1, 2, 0),
    'server',
  );
  assert.equal(accepted.initialWindowSize, 2 ** 31 - 1);
});

test('attack: any bytes are read as settings or refused with an Http2Error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        const given = Buffer.from(bytes);
        const { initialWindowSize } = changedSettings(initialSettings, given, 'server');
        assert.ok(initialWindowSize < 2 ** 31);
        for (let offset = 0; offset < given.length; offset += 6) {
          const value = given.readUInt32BE(offset + 2);
          if (given.readUInt16BE(offset) === 5) assert.ok(value >= 16_384 && value < 2 ** 24);
        }
      } catch (error) {
        assert.ok(error instanceof Http2Error, String(error));
      }
    }),
  );
});

test('a SETTINGS frame has the settings that it is made of', () => {
  const settings = settingsFrame(
    ['enablePush', 0],
    ['maxConcurrentStreams', 100],
    ['initialWindowSize', 262_144],
    ['maxFrameSize', 131_072],
    ['maxHeaderListSize', 1_048_576],
  );
  const frame = Buffer.from(settings, 'latin1');
  assert.deepEqual(frame.subarray(0, 9), Buffer.from([0, 0, 30, 4, 0, 0, 0, 0, 0]));
  assert.deepEqual(frame.subarray(9), payload(2, 0, 3, 100, 4, 262_144, 5, 131_072, 6, 1_048_576));
});
