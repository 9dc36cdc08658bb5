import type { Dispatcher } from 'undici';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import {
  Http2Error,
  type LineHandler,
  RequestHeadTooLargeError,
  UnprocessedRequestError,
} from '../../http2/client/dispatched-request.ts';
import type { HeldBytes } from '../../http2/sockets/held-bytes.ts';
import { TransportError, type TransportErrorCode } from '../../request/destination.ts';
import type { ByteCounter } from '../../request/inbound.ts';
import type { OnResponseHead, SendResult } from '../../request/transport.ts';
import { errorCode, errorMessage } from '../../runtime/errors.ts';
import type { Deadlines, Expiring } from '../exchange/deadlines.ts';
import { contentLength, type ResponseSink } from '../exchange/response-sink.ts';
import { invalidResponse, LineCount, refuseOtherCodings, responseProgressed } from './http1-pool.ts';

interface ExchangeOptions {
  readonly origin: string;
  readonly sink: ResponseSink;
  /** Of the head of the response, counted from the last progress. Left out: it waits for ever. */
  readonly deadlines?: Deadlines | undefined;
  /** Called once at the deadline: on `false` the exchange keeps waiting. Default: it fails. */
  readonly givesUp?: (() => boolean) | undefined;
  readonly body?: { readonly opened: boolean } | undefined;
  readonly onBrokenOff?: ((origin: string) => void) | undefined;
}

/**
 * Bytes that Node and TLS hold of a response over HTTP/1.1 that its client does not take, besides what they hold of each
 * connection. Measured.
 */
const heldByPaused = 128 * 1024;

/** Of a response that was replaced by another one, and is read to its end. */
const maximumDiscarded = 64 * 1024;
const discardMilliseconds = 5_000;

/**
 * One request to one destination and its response. Dispatchers report the destination's side: our HTTP/2 client lines and
 * lent pieces, undici's pool its own events. The sink reports the client's: it drains or goes away. Each event takes
 * effect once.
 */
export class Exchange implements LineHandler, Expiring {
  /** Resolves with the head of the response. @throws {TransportError} */
  readonly result: Promise<SendResult>;
  readonly #options: ExchangeOptions;
  readonly #sink: ResponseSink;
  /** Dropped with the head: it refers to the request, which an open watch must not keep in memory. */
  #onResponseHead: OnResponseHead | undefined;
  readonly #resolve: (result: SendResult) => void;
  readonly #reject: (error: TransportError) => void;
  #deadline: number | undefined;
  #bytes: ByteCounter | undefined;
  #state: 'waiting' | 'responding' | 'over' = 'waiting';
  /** Since the request is being written: from then on it may have arrived. */
  #source: Pick<Dispatcher.DispatchController, 'pause' | 'resume' | 'abort'> | undefined;
  #discardTimer: NodeJS.Timeout | undefined;
  #heads: LineCount | undefined;
  #isWhole = false;
  #heldByPaused = 0;

  constructor(options: ExchangeOptions, onResponseHead: OnResponseHead) {
    const { sink, deadlines } = options;
    this.#options = options;
    this.#sink = sink;
    this.#onResponseHead = onResponseHead;
    this.#deadline = deadlines?.add(this);
    const { promise, resolve, reject } = Promise.withResolvers<SendResult>();
    this.result = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    sink.attach(
      () => this.#resume(),
      () => this.#clientGone(),
    );
  }

  get held(): HeldBytes | undefined {
    return this.#sink.held;
  }

  get isOver(): boolean {
    return this.#state === 'over';
  }

  progressed(): void {
    if (this.#deadline !== undefined) this.#options.deadlines?.restart(this.#deadline);
  }

  onRequestStart(source: Pick<Dispatcher.DispatchController, 'pause' | 'resume' | 'abort'>): void {
    // An error here drops the request before a byte is written, and keeps the connection.
    if (this.isOver) throw cancelled();
    this.#source = source;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    statusMessage = '',
  ): void {
    this.#heads ??= new LineCount();
    const lines = rawLines(controller.rawHeaders);
    this.#heads.add(lines);
    // With an error here undici fails the request and closes the connection.
    if (this.#heads.areTooLarge) throw invalidResponse('its head is too large');
    // 1xx: the final head follows (RFC 9110 section 15.2).
    if (status < 200) return;
    responseProgressed();
    refuseOtherCodings(lines);
    this.onResponseLines(status, lines, statusMessage);
  }

  onResponseLines(status: number, headers: RawHeaders, statusMessage = ''): void {
    if (this.#state !== 'waiting') return;
    const sink = this.#sink;
    const onResponseHead = this.#onResponseHead as OnResponseHead;
    this.#onResponseHead = undefined;
    try {
      const disposition = onResponseHead({ status, headers });
      if (disposition.kind === 'replace') {
        this.#finish();
        sink.release();
        this.#discard(headers);
        this.#resolve(disposition.outcome);
        return;
      }
      const outcome = sink.start(status, statusMessage, disposition.headers);
      this.#liftDeadline();
      this.#bytes = disposition.bytes;
      this.#state = 'responding';
      this.#resolve(outcome);
    } catch (error) {
      // A head that the sink refuses (invalid bytes) counts as an invalid response.
      this.#fail(
        new TransportError(
          'InvalidResponse',
          `${this.#options.origin}: the head of the response is invalid`,
          {
            mayHaveBeenProcessed: true,
            cause: error,
          },
        ),
      );
      this.#source?.abort(cancelled());
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    responseProgressed();
    // undici's parser reports an empty chunk each time it is resumed with nothing to parse. Pausing for it, and being
    // resumed by its reader, would loop for ever.
    if (chunk.byteLength === 0) return;
    this.onResponsePiece(chunk);
    if (controller.paused) this.#countPaused(heldByPaused);
  }

  #resume(): void {
    this.#countPaused(0);
    this.#source?.resume();
  }

  #countPaused(bytes: number): void {
    if (bytes === this.#heldByPaused) return;
    this.held?.add(bytes - this.#heldByPaused);
    this.#heldByPaused = bytes;
  }

  onResponsePiece(piece: Uint8Array): void {
    if (this.#state !== 'responding') return;
    this.#bytes?.add(piece.byteLength);
    if (!this.#sink.write(piece)) this.#source?.pause();
  }

  onResponseEnd(controller?: Dispatcher.DispatchController): void {
    responseProgressed();
    this.#isWhole = true;
    // Trailers are dropped: Kubernetes sends none, and HTTP/1.1 clients would have to ask for them.
    const trailers = new LineCount();
    trailers.add(rawLines(controller?.rawTrailers));
    if (trailers.areTooLarge) throw invalidResponse('its trailers are too large');
    clearTimeout(this.#discardTimer);
    if (this.#state !== 'responding') return;
    this.#finish();
    this.#sink.end();
    this.#sink.release();
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#fail(error);
    // undici's pool would reuse the connection of a complete response: an error in its parser closes it.
    if (this.#isWhole) throw error;
  }

  notSent(error: Error): void {
    this.#fail(error);
  }

  #fail(error: unknown): void {
    clearTimeout(this.#discardTimer);
    if (this.#state === 'over') return;
    const sink = this.#sink;
    const begun = this.#state === 'responding';
    this.#finish();
    sink.release();
    const transportError = toTransportError(error, this.#options.origin, this.#source !== undefined);
    // Too late for a status: the response breaks off, so that the client cannot take a part for the whole.
    if (begun) {
      sink.breakOff(transportError);
      this.#options.onBrokenOff?.(this.#options.origin);
    } else this.#reject(transportError);
  }

  /**
   * Discards a response that was replaced. A short one is read to its end, which keeps the HTTP/1.1 connection and saves a
   * handshake. Not if the request has a body: the rest of an upload must not continue after the response.
   */
  #discard(headers: RawHeaders): void {
    const length = contentLength(headers);
    const isShort = length !== undefined && length <= maximumDiscarded;
    if (!isShort || this.#options.body?.opened === true) this.#source?.abort(cancelled());
    else this.#discardTimer = setTimeout(() => this.#source?.abort(cancelled()), discardMilliseconds);
  }

  expire(): void {
    this.#deadline = undefined;
    if (this.#options.givesUp?.() !== false)
      this.#cancel('Timeout', `no response within ${this.#options.deadlines?.timeout} ms`);
  }

  #clientGone(): void {
    if (this.#state !== 'over') this.#cancel('ClientGone', 'the client went away');
  }

  #cancel(code: TransportErrorCode, message: string): void {
    const isWaiting = this.#state === 'waiting';
    const source = this.#source;
    this.#finish();
    this.#sink.release();
    if (isWaiting) {
      const mayHaveBeenProcessed = source !== undefined;
      this.#reject(new TransportError(code, `${this.#options.origin}: ${message}`, { mayHaveBeenProcessed }));
    }
    source?.abort(cancelled());
  }

  #finish(): void {
    this.#state = 'over';
    this.#countPaused(0);
    this.#liftDeadline();
  }

  #liftDeadline(): void {
    if (this.#deadline === undefined) return;
    this.#options.deadlines?.remove(this, this.#deadline);
    this.#deadline = undefined;
  }
}

function cancelled(): Error {
  return new Error('the request was cancelled');
}

/** Header lines as byte strings: undici's pool has a list of bytes. */
function rawLines(given: Dispatcher.DispatchController['rawHeaders']): string[] {
  return (Array.isArray(given) ? given : []).map((part) =>
    typeof part === 'string' ? part : part.toString('latin1'),
  );
}

/** OpenSSL's codes for a destination that rejects our client certificate. TLS 1.3 reports it after the handshake. */
const certificateRefused =
  /^ERR_SSL_(TLSV13_ALERT_CERTIFICATE_REQUIRED|TLSV1_ALERT_UNKNOWN_CA|TLSV1_ALERT_ACCESS_DENIED|TLSV1_ALERT_DECRYPT_ERROR|SSLV3_ALERT_(BAD|UNSUPPORTED|EXPIRED|REVOKED|UNKNOWN)_?CERTIFICATE|SSLV3_ALERT_CERTIFICATE_(EXPIRED|REVOKED|UNKNOWN)|SSLV3_ALERT_HANDSHAKE_FAILURE)$/;

/** Codes of undici, and of Node for a head that it cannot write. undici uses one of them for two Content-Lengths, too. */
const invalidResponseCodes: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'ERR_INVALID_CHAR',
]);

/** @param sent writing the request had begun */
export function toTransportError(error: unknown, origin: string, sent: boolean): TransportError {
  if (error instanceof TransportError) return error;
  if (error instanceof UnprocessedRequestError) return toTransportError(error.cause, origin, false);
  const cause = errorCode(error);
  return new TransportError(transportErrorCode(cause, error), `${origin}: ${errorMessage(error)}`, {
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
  if (code.startsWith('HPE_') || invalidResponseCodes.has(code)) return 'InvalidResponse';
  if (!(error instanceof Error)) return 'ConnectionClosed';
  // undici's messages for an unrequested 100 Continue or 101 Switching Protocols (client-h1.js).
  const isInvalid = error.name === 'HTTPParserError' || /^bad (response|upgrade)$/.test(error.message);
  return isInvalid ? 'InvalidResponse' : 'ConnectionClosed';
}
