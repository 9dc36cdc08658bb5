import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransportError } from '../../request/destination.ts';
import { toTransportError } from './exchange.ts';

const toError = (error: unknown, sent = true): TransportError =>
  toTransportError(error, 'https://10.0.0.1:6443', sent);
const withCode = (code: string, message = 'failed'): Error => Object.assign(new Error(message), { code });

test('a destination that refuses our certificate after a TLS 1.3 handshake has processed nothing', () => {
  for (const alert of [
    'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
    'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
    'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
    'ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED',
    'ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN',
    'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
  ]) {
    const error = toError(withCode(alert));
    assert.equal(error.code, 'TLSFailed', alert);
    assert.equal(error.mayHaveBeenProcessed, false, alert);
  }
});

test('any other TLS error in the middle of a connection says nothing about what arrived', () => {
  const error = toError(withCode('ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC'));
  assert.equal(error.code, 'TLSFailed');
  assert.equal(error.mayHaveBeenProcessed, true);
});

test('each kind of failure has its code', () => {
  const codes = {
    ECONNRESET: 'ConnectionClosed',
    UND_ERR_SOCKET: 'ConnectionClosed',
    UND_ERR_CONNECT_TIMEOUT: 'Timeout',
    ETIMEDOUT: 'Timeout',
    HPE_INVALID_CONSTANT: 'InvalidResponse',
    UND_ERR_HEADERS_OVERFLOW: 'InvalidResponse',
    UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'InvalidResponse',
  };
  for (const [code, expected] of Object.entries(codes)) {
    assert.equal(toError(withCode(code)).code, expected, code);
  }
  assert.equal(toError(new Error('bad upgrade')).code, 'InvalidResponse');
  assert.equal(toError('no error at all').code, 'ConnectionClosed');
});

test('what cannot have been processed says so, with its cause', () => {
  const cause = withCode('ECONNRESET');
  const error = toError(cause, false);
  assert.equal(error.mayHaveBeenProcessed, false);
  assert.equal(error.cause, cause);
});

test('the message names the destination, for logs, and keeps the cause', () => {
  const cause = withCode('ECONNRESET', 'read ECONNRESET');
  const error = toError(cause);
  assert.equal(error.message, 'https://10.0.0.1:6443: read ECONNRESET');
  assert.equal(error.cause, cause);
  const already = new TransportError('Timeout', 'slow', { mayHaveBeenProcessed: true });
  assert.equal(toError(already), already);
});
