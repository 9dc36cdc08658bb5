/** Ended a request or its connection: a violation of the protocol, or a reset stream. */
export { Http2Error } from '../frames/http2-error.ts';

/** The server has not processed the request: it can be sent again (RFC 9113 section 8.7). */
export class UnprocessedRequestError extends Error {
  override readonly name = 'UnprocessedRequestError';
  readonly code = 'ERR_HTTP2_REQUEST_UNPROCESSED';

  /** @param cause why no response came */
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** The head of the request exceeds what the server accepts; nothing was sent. */
export class RequestHeadTooLargeError extends Error {
  override readonly name = 'RequestHeadTooLargeError';
  readonly code = 'ERR_HTTP2_REQUEST_HEAD_TOO_LARGE';

  /** @param size bytes, as SETTINGS_MAX_HEADER_LIST_SIZE counts them @param maximum the same */
  constructor(size: number, maximum: number) {
    super(`a request head of ${size} bytes exceeds the ${maximum} bytes that this server accepts`);
  }
}

/** The server does not speak HTTP/2, and the pool has no dispatcher for HTTP/1.1. */
export class Http2NotNegotiatedError extends Error {
  override readonly name = 'Http2NotNegotiatedError';
  readonly code = 'ERR_HTTP2_NOT_NEGOTIATED';

  constructor() {
    super('the server did not agree on HTTP/2 (ALPN)');
  }
}

/** The server did not send its SETTINGS in time. */
export class SettingsTimeoutError extends Error {
  override readonly name = 'SettingsTimeoutError';
  readonly code = 'ETIMEDOUT';

  /** @param timeout milliseconds */
  constructor(timeout: number) {
    super(`no HTTP/2 settings within ${timeout} ms`);
  }
}
