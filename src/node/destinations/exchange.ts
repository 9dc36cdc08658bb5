import type { Dispatcher } from 'undici';
import {
  type ClientRequest,
  Http2Error,
  type Http2Pool,
  type RequestListener,
} from '../../../packages/http2/index.ts';
import type { HeldBytes, ResponseSource, ResponseWriter } from '../../../packages/http2/shared.ts';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { TransportError, type TransportErrorCode } from '../../request/destination.ts';
import type { ByteCounter } from '../../request/inbound.ts';
import {
  type FinalDisposition,
  type OnResponseHead,
  passedOnResponse,
  type ResponseHead,
  type SendResult,
  sent,
} from '../../request/transport.ts';
import { errorCode, errorMessage } from '../../runtime/errors.ts';
import type { Deadlines, Expiring } from '../exchange/deadlines.ts';
import { contentLength, type ResponseSink } from '../exchange/response-sink.ts';
import { Http1Response } from './http1-pool.ts';

interface ExchangeOptions {
  readonly origin: string;
  readonly sink: ResponseSink;
  /** Deadlines of the head of the response, counted from the last progress. Left out: the exchange waits for ever. */
  readonly deadlines?: Deadlines | undefined;
  /** Called at the deadline: on `false` the exchange keeps waiting, until the next one. Default: it fails. */
  readonly givesUp?: (() => boolean) | undefined;
  readonly body?: { readonly opened: boolean } | undefined;
  /** As `OutboundRequest.stillHolds`. Default: it does. */
  readonly stillHolds?: (() => boolean) | undefined;
  readonly onBrokenOff?: ((origin: string) => void) | undefined;
}

interface Head extends ResponseHead {
  readonly reason: string;
}

/** A response whose content says what becomes of it. */
interface Reading {
  readonly head: Head;
  readonly judge: (content: Uint8Array) => FinalDisposition;
  readonly length: number;
  readonly content: Uint8Array[];
}

/** Milliseconds from which on a request has waited for its connection: longer than a handshake takes. */
const waited = 250;

/** Bytes up to which a response that was replaced by another one is read to its end. */
const maximumDiscarded = 64 * 1024;
const discardMilliseconds = 5_000;

/**
 * One request to one destination and its response. The pool reports the destination's side; the sink the client's, which
 * drains or goes away. Each event takes effect once.
 */
export class Exchange implements RequestListener, ResponseWriter, Expiring {
  /** Resolves with the head of the response. @throws {TransportError} */
  readonly result: Promise<SendResult>;
  readonly #options: ExchangeOptions;
  /** Since the request waits for a connection. */
  #waitsSince: number | undefined;
  readonly #sink: ResponseSink;
  /** Dropped with the head: it refers to the request, which an open watch must not keep in memory. */
  #onResponseHead: OnResponseHead | undefined;
  readonly #resolve: (result: SendResult) => void;
  readonly #reject: (error: TransportError) => void;
  #deadline: number | undefined;
  #bytes: ByteCounter | undefined;
  #state: 'waiting' | 'responding' | 'over' = 'waiting';
  /** Since the request is being written: from then on it may have arrived. */
  #source: ResponseSource | undefined;
  #reading: Reading | undefined;
  #discardTimer: NodeJS.Timeout | undefined;

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
    sink.attach(this);
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

  submitTo(pool: Pick<Http2Pool, 'submit'>, request: ClientRequest): void {
    pool.submit(request, this);
    if (this.#state === 'waiting' && this.#source === undefined) this.#waitsSince = performance.now();
  }

  begun(source: ResponseSource): void {
    // Nothing is written then.
    if (this.isOver) throw cancelled();
    const { origin, stillHolds } = this.#options;
    // On another connection it begins anew.
    const isAgain = this.#source !== undefined;
    const hasWaited = this.#waitsSince !== undefined && performance.now() - this.#waitsSince > waited;
    if ((isAgain || hasWaited) && stillHolds?.() === false) {
      const message = `${origin}: connected when the request was to go elsewhere`;
      throw new TransportError('DecisionOutdated', message, { mayHaveBeenProcessed: false });
    }
    this.#source = source;
  }

  passOnTo(dispatcher: Dispatcher, { method, target, headers, content }: ClientRequest): void {
    const { origin } = this.#options;
    // undici's type is not readonly, but undici does not change the lines.
    const options = { origin, path: target, method, headers: headers as string[], body: content ?? null };
    dispatcher.dispatch(options, new Http1Response(this));
  }

  head(status: number, headers: RawHeaders, reason = ''): void {
    const onResponseHead = this.#onResponseHead;
    if (this.#state !== 'waiting' || onResponseHead === undefined) return;
    this.#onResponseHead = undefined;
    if (this.#sink.hasBegun === true) {
      this.#cancel('ClientGone', 'the client has had a response that it took too long');
      return;
    }
    const head = { status, headers, reason };
    this.#disposed(head, () => {
      const disposition = onResponseHead(head);
      if (disposition.kind !== 'read') return disposition;
      this.#reading = { head, judge: disposition.judge, length: disposition.length, content: [] };
      return undefined;
    });
  }

  /** @param dispose `undefined`: the content is read first */
  #disposed(head: Head, dispose: () => FinalDisposition | undefined): void {
    const sink = this.#sink;
    try {
      const disposition = dispose();
      if (disposition === undefined) return;
      if (disposition.kind === 'replace') {
        this.#finish();
        sink.release();
        this.#discard(head.headers);
        this.#resolve(disposition.outcome);
        return;
      }
      sink.respond(head.status, disposition.headers, head.reason);
      disposition.record?.responded(head.status);
      this.#liftDeadline();
      this.#bytes = disposition.record?.responseBytes;
      this.#state = 'responding';
      this.#resolve(sink.response === undefined ? sent(head.status) : passedOnResponse(sink.response));
    } catch (error) {
      // A head that the sink refuses (invalid bytes) counts as an invalid response.
      const message = `${this.#options.origin}: the head of the response is invalid`;
      this.fail(new TransportError('InvalidResponse', message, { mayHaveBeenProcessed: true, cause: error }));
      this.#source?.abort(cancelled());
    }
  }

  data(piece: Uint8Array): void {
    const reading = this.#reading;
    if (reading !== undefined) {
      // The piece may be overwritten as soon as this returns.
      reading.content.push(Uint8Array.from(piece));
      if (lengthOf(reading.content) > reading.length) this.#wasRead(reading);
      return;
    }
    if (this.#state !== 'responding') return;
    this.#bytes?.add(piece.byteLength);
    if (!this.#sink.write(piece)) this.#source?.pause();
  }

  /** A response that is passed on has its content, too. */
  #wasRead({ head, judge, content }: Reading): void {
    this.#reading = undefined;
    if (this.#state !== 'waiting') return;
    const whole = Buffer.concat(content);
    this.#disposed(head, () => judge(whole));
    if (whole.length > 0) this.data(whole);
  }

  end(): void {
    clearTimeout(this.#discardTimer);
    if (this.#reading !== undefined) this.#wasRead(this.#reading);
    clearTimeout(this.#discardTimer);
    if (this.#state !== 'responding') return;
    this.#finish();
    this.#sink.end();
    this.#sink.release();
  }

  onRoom(): void {
    this.#source?.resume();
  }

  fail(error: unknown, isUnprocessed = false): void {
    clearTimeout(this.#discardTimer);
    if (this.#state === 'over') return;
    const sink = this.#sink;
    const begun = this.#state === 'responding';
    this.#finish();
    sink.release();
    const mayHaveBeenProcessed = this.#source !== undefined && !isUnprocessed;
    const transportError = toTransportError(error, this.#options.origin, mayHaveBeenProcessed);
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
    const { givesUp, deadlines } = this.#options;
    const keepsWaiting = givesUp?.() === false;
    this.#deadline = keepsWaiting ? deadlines?.add(this) : undefined;
    if (!keepsWaiting) this.#cancel('Timeout', `no response within ${deadlines?.timeout} ms`);
  }

  onGone(): void {
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
    this.#liftDeadline();
  }

  #liftDeadline(): void {
    if (this.#deadline === undefined) return;
    this.#options.deadlines?.remove(this, this.#deadline);
    this.#deadline = undefined;
  }
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

function cancelled(): Error {
  return new Error('the request was cancelled');
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

/** @param mayHaveBeenProcessed writing the request had begun, and the server has not said that it did nothing */
export function toTransportError(
  error: unknown,
  origin: string,
  mayHaveBeenProcessed: boolean,
): TransportError {
  if (error instanceof TransportError) return error;
  const cause = errorCode(error);
  return new TransportError(transportErrorCode(cause, error), `${origin}: ${errorMessage(error)}`, {
    // A destination that rejects our certificate has read no request.
    mayHaveBeenProcessed: mayHaveBeenProcessed && !certificateRefused.test(cause),
    cause: error,
  });
}

function transportErrorCode(code: string, error: unknown): TransportErrorCode {
  if (code === 'ERR_HTTP2_REQUEST_HEAD_TOO_LARGE') return 'RequestHeaderFieldsTooLarge';
  if (error instanceof Http2Error) return error.isInvalidResponse ? 'InvalidResponse' : 'ConnectionClosed';
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return 'TLSFailed';
  if (code === 'ETIMEDOUT' || /^UND_ERR_\w+_TIMEOUT$/.test(code)) return 'Timeout';
  if (code.startsWith('HPE_') || invalidResponseCodes.has(code)) return 'InvalidResponse';
  if (!(error instanceof Error)) return 'ConnectionClosed';
  // undici's messages for an unrequested 100 Continue or 101 Switching Protocols (client-h1.js).
  const isInvalid = error.name === 'HTTPParserError' || /^bad (response|upgrade)$/.test(error.message);
  return isInvalid ? 'InvalidResponse' : 'ConnectionClosed';
}
