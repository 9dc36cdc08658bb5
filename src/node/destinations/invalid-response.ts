import { allHeaders, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { TransportError } from '../../request/transport.ts';

/**
 * Refuses what is coded in another way than in chunks: a parser takes the chunks off, the line goes with them, and what
 * is left would be passed on as the content itself (RFC 9112 section 6.1).
 * @throws {TransportError} `InvalidResponse`
 */
export function refuseOtherCodings(headers: RawHeaders): void {
  const codings = allHeaders(headers, 'transfer-encoding');
  if (codings.length > 1 || (codings[0] ?? 'chunked').trim().toLowerCase() !== 'chunked') {
    throw invalidResponse('it has a Transfer-Encoding other than chunked');
  }
}

export function invalidResponse(fault: string): TransportError {
  return new TransportError('InvalidResponse', `the answer is no valid HTTP/1.1: ${fault}`, {
    requestMayHaveArrived: true,
  });
}
