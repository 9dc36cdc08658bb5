import type { RawHeaders } from '../../../src/apimachinery/raw-headers.ts';
import type {
  ConnectionInfo,
  InboundRequest,
  VerifiedClientCertificate,
} from '../../../src/request/inbound.ts';

/** A GET without a body, as a runtime would hand it over. */
export function inboundRequest(headers: RawHeaders = [], connection: ConnectionInfo = {}): InboundRequest {
  return {
    method: 'GET',
    target: '/api/v1/pods',
    headers,
    connection,
    body: () => null,
    signal: new AbortController().signal,
  };
}

/** A connection whose client certificate the runtime has verified. */
export function withCertificate(
  authority: VerifiedClientCertificate['authority'],
  commonName: string,
  organizations: readonly string[] = [],
): ConnectionInfo {
  return { clientCertificate: { authority, commonName, organizations } };
}
