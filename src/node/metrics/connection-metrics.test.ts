import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type TlsFailureCause, tlsFailureCause } from './connection-metrics.ts';

const rows: readonly (readonly [code: string, cause: TlsFailureCause])[] = [
  ['SELF_SIGNED_CERT_IN_CHAIN', 'unknown_ca'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'unknown_ca'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unknown_ca'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'unknown_ca'],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'unknown_ca'],
  ['CERT_HAS_EXPIRED', 'expired_cert'],
  ['CERT_NOT_YET_VALID', 'expired_cert'],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'expired_cert'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'hostname_mismatch'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'client_certificate_refused'],
  ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', 'client_certificate_refused'],
  ['ERR_SSL_HTTP_REQUEST', 'protocol_mismatch'],
  ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'protocol_mismatch'],
  ['ERR_SSL_NO_SHARED_CIPHER', 'protocol_mismatch'],
  ['ERR_TLS_HANDSHAKE_TIMEOUT', 'timeout'],
  ['ECONNRESET', 'closed'],
  ['ERR_SOMETHING_NEW', 'other'],
];

for (const [code, cause] of rows) {
  test(`${code} is ${cause}`, () => {
    assert.equal(tlsFailureCause(Object.assign(new Error('failed'), { code })), cause);
  });
}

test('an error without a code is other', () => {
  assert.equal(tlsFailureCause(new Error('closed')), 'other');
  assert.equal(tlsFailureCause(undefined), 'other');
});
