import { allHeaders, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { TransportError } from '../../request/transport-error.ts';

/**
 * Refuses transfer codings other than `chunked`. A parser decodes the chunks only, and the header is dropped: the content
 * would be forwarded still encoded (RFC 9112 section 6.1).
 * @throws {TransportError} `InvalidResponse`
 */
export function refuseOtherCodings(headers: RawHeaders): void {
  const codings = allHeaders(headers, 'transfer-encoding');
  if (codings.length > 1 || (codings[0] ?? 'chunked').trim().toLowerCase() !== 'chunked') {
    throw invalidResponse('it has a Transfer-Encoding other than chunked');
  }
}

export function invalidResponse(reason: string): TransportError {
  return new TransportError('InvalidResponse', `the response is not valid HTTP/1.1: ${reason}`, {
    requestMayHaveArrived: true,
  });
}
