/** What ended a request, or its connection: a fault of the protocol, or a stream that was reset. */
export { Http2Error } from '../frames/http2-error.ts';

/** The server has not processed the request: it can be sent again, here or elsewhere (RFC 9113 section 8.7). */
export class UnprocessedRequestError extends Error {
  override readonly name = 'UnprocessedRequestError';
  readonly code = 'ERR_HTTP2_REQUEST_UNPROCESSED';

  /** @param cause why no response came */
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** The head of the request is more than the server takes, by its own word; nothing was sent. */
export class RequestHeadTooLargeError extends Error {
  override readonly name = 'RequestHeadTooLargeError';
  readonly code = 'ERR_HTTP2_REQUEST_HEAD_TOO_LARGE';

  /** @param size bytes, as SETTINGS_MAX_HEADER_LIST_SIZE counts them @param maximum the same */
  constructor(size: number, maximum: number) {
    super(`a request head of ${size} bytes is more than the ${maximum} that this server takes`);
  }
}

/** The server speaks no HTTP/2, and nobody else was named to carry requests to it. */
export class Http2NotNegotiatedError extends Error {
  override readonly name = 'Http2NotNegotiatedError';
  readonly code = 'ERR_HTTP2_NOT_NEGOTIATED';

  constructor() {
    super('the server did not agree on HTTP/2 (ALPN)');
  }
}

/** The server sent no SETTINGS in time. */
export class SettingsTimeoutError extends Error {
  override readonly name = 'SettingsTimeoutError';
  readonly code = 'ETIMEDOUT';

  /** @param timeout milliseconds */
  constructor(timeout: number) {
    super(`no HTTP/2 settings within ${timeout} ms`);
  }
}
