import {
  Http2Error,
  RequestHeadTooLargeError,
  UnprocessedRequestError,
} from '../../http2/client/dispatched-request.ts';
import { TransportError, type TransportErrorCode } from '../../request/destination.ts';
import { errorCode, errorMessage } from '../../runtime/errors.ts';

/** OpenSSL's codes for a destination that rejects our client certificate. TLS 1.3 reports it after the handshake. */
const certificateRefused =
  /^ERR_SSL_(TLSV13_ALERT_CERTIFICATE_REQUIRED|TLSV1_ALERT_UNKNOWN_CA|TLSV1_ALERT_ACCESS_DENIED|TLSV1_ALERT_DECRYPT_ERROR|SSLV3_ALERT_(BAD|UNSUPPORTED|EXPIRED|REVOKED|UNKNOWN)_?CERTIFICATE|SSLV3_ALERT_CERTIFICATE_(EXPIRED|REVOKED|UNKNOWN)|SSLV3_ALERT_HANDSHAKE_FAILURE)$/;

/** Codes of undici, and of Node for a head that it cannot write. undici uses one of them for two Content-Lengths, too. */
const invalidResponseCodes: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'ERR_INVALID_CHAR',
]);

interface FailureCircumstances {
  /** Of the destination, for the message. */
  readonly origin: string;
  /** Writing the request had begun. */
  readonly sent: boolean;
}

/** Converts an error of undici, the HTTP/2 client or node:tls to a `TransportError`. */
export function toTransportError(error: unknown, circumstances: FailureCircumstances): TransportError {
  if (error instanceof TransportError) return error;
  if (error instanceof UnprocessedRequestError) {
    // The server did not process the request.
    return toTransportError(error.cause, { ...circumstances, sent: false });
  }
  const { origin, sent } = circumstances;
  const detail = errorMessage(error);
  const cause = errorCode(error);
  const code = transportErrorCode(cause, error);
  return new TransportError(code, `${origin}: ${detail}`, {
    // A destination that rejects our certificate has read no request.
    mayHaveBeenProcessed: sent && !certificateRefused.test(cause),
    cause: error,
  });
}

function transportErrorCode(code: string, error: unknown): TransportErrorCode {
  if (error instanceof RequestHeadTooLargeError) return 'RequestHeaderFieldsTooLarge';
  if (error instanceof Http2Error) return error.isInvalidResponse ? 'InvalidResponse' : 'ConnectionClosed';
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'TLSFailed';
  if (code === 'ETIMEDOUT' || /^UND_ERR_\w+_TIMEOUT$/.test(code)) return 'Timeout';
  if (code.startsWith('HPE_') || (error instanceof Error && error.name === 'HTTPParserError')) {
    return 'InvalidResponse';
  }
  if (invalidResponseCodes.has(code)) return 'InvalidResponse';
  // undici's messages for an unrequested 100 Continue or 101 Switching Protocols (client-h1.js).
  if (error instanceof Error && /^bad (response|upgrade)$/.test(error.message)) return 'InvalidResponse';
  return 'ConnectionClosed';
}
