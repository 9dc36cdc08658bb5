import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseScrape } from '../../../test/support/prometheus-text.ts';
import { type Destination, TransportError } from '../../request/destination.ts';
import { createMetricRegistry } from './catalogue.ts';
import { DestinationSeriesIndex, tlsFailureCause } from './connection-metrics.ts';
import { expose } from './metric-family.ts';

const rows: readonly (readonly [code: string, cause: string])[] = [
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

test('a connection that failed counts for the server that it leads to now, whatever it was opened for', () => {
  const registry = createMetricRegistry();
  const destinations = new DestinationSeriesIndex(registry.destinations);
  const at = (id: string, address: string, kind: Destination['kind'] = 'peer'): Destination => ({
    kind,
    id,
    origin: `https://${address}`,
    serverName: 'kubernetes.default.svc',
    trust: { kind: 'peer-ca' },
  });
  const connect = (destination: Destination) => {
    const failure = new TransportError('ConnectFailed', 'refused', { mayHaveBeenProcessed: false });
    destinations.at(destination)?.connectFailed(failure);
  };
  const counted = () => {
    const families = parseScrape(expose(Object.values(registry.destinations)));
    const labels = [...families.values()].flatMap(({ samples }) => samples.map((sample) => sample.labels));
    return [...new Set(labels.flatMap(({ destination }) => destination ?? []))];
  };

  connect(at('cp-a', '127.0.0.1:6444', 'local'));
  assert.deepEqual(counted(), ['cp-a'], 'the local server is known before any snapshot');
  const renamed = at('apiserver-b', '10.0.0.2:6444');
  destinations.retain([renamed]);
  // One that is kept while its server gets an identity Lease, one of a question for the router there, or beside it.
  connect(at('endpoint-10-0-0-2-6444', '10.0.0.2:6444'));
  connect(at('router of apiserver-b', '10.0.0.2:6444'));
  connect(at('router of apiserver-b', '10.0.0.2:6443'));
  assert.deepEqual(counted(), ['apiserver-b']);
});
