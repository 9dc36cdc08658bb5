import { errorCode } from './frame.ts';

/** The scope of an error: one stream, or the connection with all its streams (RFC 9113 section 5.4). */
export type Http2ErrorScope = 'stream' | 'connection';

/** An error of HTTP/2: its scope says what it ended. */
export class Http2Error extends Error {
  override readonly name = 'Http2Error';
  /** Has a prefix of its own, unlike the codes of Node, OpenSSL and undici. */
  readonly code: `ERR_HTTP2_CLIENT_${Uppercase<Http2ErrorScope>}`;
  readonly scope: Http2ErrorScope;
  /** RFC 9113 section 7. */
  readonly errorCode: number;
  /** The server sent invalid HTTP/2: it may have processed the request. */
  readonly isInvalidResponse: boolean;

  constructor(
    scope: Http2ErrorScope,
    code: number,
    message: string,
    { isInvalidResponse = false }: { readonly isInvalidResponse?: boolean } = {},
  ) {
    super(message);
    this.scope = scope;
    this.code = scope === 'stream' ? 'ERR_HTTP2_CLIENT_STREAM' : 'ERR_HTTP2_CLIENT_CONNECTION';
    this.errorCode = code;
    this.isInvalidResponse = isInvalidResponse;
  }
}

/** The peer broke the protocol, and the connection must end. @param code RFC 9113 section 7 */
export function connectionError(code: number, reason: string): Http2Error {
  return new Http2Error('connection', code, `the peer sent invalid HTTP/2: ${reason}`, {
    isInvalidResponse: true,
  });
}

/**
 * One response is malformed (RFC 9113 section 8.1.1); other streams continue.
 * @param code RFC 9113 section 7. Default: PROTOCOL_ERROR
 */
export function malformedResponse(reason: string, code: number = errorCode.protocolError): Http2Error {
  return new Http2Error('stream', code, `the response is not valid HTTP/2: ${reason}`, {
    isInvalidResponse: true,
  });
}

/**
 * One request is malformed (RFC 9113 section 8.1.1); other streams continue.
 * @param code RFC 9113 section 7. Default: PROTOCOL_ERROR
 */
export function malformedRequest(reason: string, code: number = errorCode.protocolError): Http2Error {
  return new Http2Error('stream', code, `the request is not valid HTTP/2: ${reason}`);
}

/** @param code RFC 9113 section 7 */
export function errorCodeName(code: number): string {
  for (const [name, value] of Object.entries(errorCode)) {
    if (value === code) return name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  }
  return `0x${code.toString(16)}`;
}
