import { errorCode } from './frame.ts';

/** What a fault ends: one stream, or the connection with all of its streams (RFC 9113 section 5.4). */
export type Http2ErrorScope = 'stream' | 'connection';

/** Who gave up, and over what. */
export class Http2Error extends Error {
  override readonly name = 'Http2Error';
  /** Prefixed so that it is told apart from the codes of Node, OpenSSL and undici. */
  readonly code: `ERR_HTTP2_CLIENT_${Uppercase<Http2ErrorScope>}`;
  readonly scope: Http2ErrorScope;
  /** RFC 9113 section 7. */
  readonly errorCode: number;
  /** What the server sent is no valid HTTP/2: there may be an answer, but nobody can say which. */
  readonly isInvalidAnswer: boolean;

  constructor(
    scope: Http2ErrorScope,
    code: number,
    message: string,
    { isInvalidAnswer = false }: { readonly isInvalidAnswer?: boolean } = {},
  ) {
    super(message);
    this.scope = scope;
    this.code = scope === 'stream' ? 'ERR_HTTP2_CLIENT_STREAM' : 'ERR_HTTP2_CLIENT_CONNECTION';
    this.errorCode = code;
    this.isInvalidAnswer = isInvalidAnswer;
  }
}

/** The server broke the protocol in a way that leaves nothing on the connection to be relied on. */
export function connectionFault(code: number, fault: string): Http2Error {
  return new Http2Error('connection', code, `what came is no valid HTTP/2: ${fault}`, {
    isInvalidAnswer: true,
  });
}

/**
 * One answer is malformed (RFC 9113 section 8.1.1); the others are not touched by it.
 * @param code RFC 9113 section 7. Default: PROTOCOL_ERROR
 */
export function malformedAnswer(fault: string, code: number = errorCode.protocolError): Http2Error {
  return new Http2Error('stream', code, `the answer is no valid HTTP/2: ${fault}`, {
    isInvalidAnswer: true,
  });
}

/**
 * One request is malformed (RFC 9113 section 8.1.1); the others are not touched by it.
 * @param fault what is wrong with it @param code RFC 9113 section 7. Default: PROTOCOL_ERROR
 */
export function malformedRequest(fault: string, code: number = errorCode.protocolError): Http2Error {
  return new Http2Error('stream', code, `the request is no valid HTTP/2: ${fault}`);
}

/** @param code RFC 9113 section 7 */
export function errorCodeName(code: number): string {
  for (const [name, value] of Object.entries(errorCode)) {
    if (value === code) return name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  }
  return `0x${code.toString(16)}`;
}
