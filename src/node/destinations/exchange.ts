import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { HeldBytes } from '../../http2/sockets/held-bytes.ts';
import { TransportError } from '../../request/destination.ts';
import type { ByteCounter } from '../../request/request-record.ts';
import type { OnResponseHead, SendResult } from '../../request/transport.ts';
import { contentLength, type ResponseSink } from '../exchange/response-sink.ts';
import { toTransportError } from './transport-errors.ts';

/** Controls the destination's side of an exchange, once its request is being written. */
interface ResponseSource {
  pause(): void;
  resume(): void;
  /** Resets the HTTP/2 stream, or closes the HTTP/1.1 connection. */
  abort(reason: Error): void;
}

interface ExchangeOptions {
  readonly origin: string;
  readonly sink: ResponseSink;
  readonly onResponseHead: OnResponseHead;
  /** Milliseconds without progress until the head of the response; 0 waits for ever. */
  readonly headTimeout: number;
  /** Called once after `headTimeout`: on `false` the exchange keeps waiting. Default: it fails. */
  readonly givesUp?: (() => boolean) | undefined;
  /** The request's body: reading it may have begun. */
  readonly body?: { readonly opened: boolean } | undefined;
  /** Called if the destination broke off a response: its health should be checked. */
  readonly onBrokenOff?: ((origin: string) => void) | undefined;
}

/** Limits for reading the rest of a response that was replaced by another one. */
const maximumDiscarded = 64 * 1024;
const discardMilliseconds = 5_000;

/**
 * One request to one destination and its response, over either protocol. The destination's side reports head, data, end
 * and errors; the client's side drains or goes away. Each event takes effect once.
 */
export class Exchange {
  /** Resolves with the head of the response. @throws {TransportError} */
  readonly result: Promise<SendResult>;
  readonly #origin: string;
  readonly #sink: ResponseSink;
  readonly #headTimeout: number;
  readonly #givesUp: (() => boolean) | undefined;
  readonly #body: ExchangeOptions['body'];
  readonly #onBrokenOff: ((origin: string) => void) | undefined;
  /** Dropped with the head: it refers to the request, which an open watch must not keep in memory. */
  #onResponseHead: OnResponseHead | undefined;
  readonly #resolve: (result: SendResult) => void;
  readonly #reject: (error: TransportError) => void;
  readonly #timer: NodeJS.Timeout | undefined;
  /** Set with the head, if bytes are counted. */
  #bytes: ByteCounter | undefined;
  #state: 'waiting' | 'responding' | 'over' = 'waiting';
  #source: ResponseSource | undefined;
  #discardTimer: NodeJS.Timeout | undefined;

  constructor(options: ExchangeOptions) {
    const { origin, sink, onResponseHead, headTimeout, body, onBrokenOff } = options;
    this.#origin = origin;
    this.#sink = sink;
    this.#onResponseHead = onResponseHead;
    this.#headTimeout = headTimeout;
    this.#givesUp = options.givesUp;
    this.#body = body;
    this.#onBrokenOff = onBrokenOff;
    const { promise, resolve, reject } = Promise.withResolvers<SendResult>();
    this.result = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    // One timer until the head: for queueing, connecting, sending and waiting.
    if (headTimeout > 0) this.#timer = setTimeout(() => this.#timedOut(), headTimeout);
    sink.attach(
      () => this.#source?.resume(),
      () => this.#clientGone(),
    );
  }

  /** Counts what waits for the client. */
  get held(): HeldBytes | undefined {
    return this.#sink.held;
  }

  /** The exchange was cancelled or has ended: the request must not be sent. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  /** The request is about to be written: from here on it may have arrived. */
  started(source: ResponseSource): void {
    this.#source = source;
  }

  /** A chunk of the request's body was read from the client, which restarts the time-out. */
  progressed(): void {
    this.#timer?.refresh();
  }

  /** The final head of the response. The caller ignores interim ones (1xx). */
  head(status: number, statusMessage: string, headers: RawHeaders): void {
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
      clearTimeout(this.#timer);
      this.#bytes = disposition.bytes;
      this.#state = 'responding';
      this.#resolve(outcome);
    } catch (error) {
      // A head that the sink refuses (invalid bytes) counts as an invalid response.
      this.fail(
        new TransportError('InvalidResponse', `${this.#origin}: the head of the response is invalid`, {
          mayHaveBeenProcessed: true,
          cause: error,
        }),
      );
      this.#source?.abort(cancelled());
    }
  }

  data(chunk: Uint8Array): void {
    // undici's parser reports an empty chunk each time it is resumed with nothing to parse. Pausing for it, and being
    // resumed by its reader, would loop for ever.
    if (this.#state !== 'responding' || chunk.byteLength === 0) return;
    this.#bytes?.add(chunk.byteLength);
    if (!this.#sink.write(chunk)) this.#source?.pause();
  }

  /** As `data`, for bytes that are overwritten as soon as it returns. */
  lend(chunk: Uint8Array): void {
    if (this.#state !== 'responding' || chunk.byteLength === 0) return;
    this.#bytes?.add(chunk.byteLength);
    const sink = this.#sink;
    const hasRoom = sink.lend === undefined ? sink.write(Buffer.from(chunk)) : sink.lend(chunk);
    if (!hasRoom) this.#source?.pause();
  }

  end(): void {
    clearTimeout(this.#discardTimer);
    if (this.#state !== 'responding') return;
    this.#finish();
    this.#sink.end();
    this.#sink.release();
  }

  fail(error: unknown): void {
    clearTimeout(this.#discardTimer);
    if (this.#state === 'over') return;
    const sink = this.#sink;
    const begun = this.#state === 'responding';
    this.#finish();
    sink.release();
    const transportError = toTransportError(error, {
      origin: this.#origin,
      sent: this.#source !== undefined,
    });
    // Too late for a status: the response breaks off, so that the client cannot take a part for the whole.
    if (begun) {
      sink.breakOff(transportError);
      this.#onBrokenOff?.(this.#origin);
    } else this.#reject(transportError);
  }

  /**
   * Discards a response that was replaced. A short one is read to its end, which keeps the HTTP/1.1 connection and saves a
   * handshake. Not if the request has a body: the rest of an upload must not continue after the response.
   */
  #discard(headers: RawHeaders): void {
    const length = contentLength(headers);
    const isShort = length !== undefined && length <= maximumDiscarded;
    if (!isShort || this.#body?.opened === true) this.#source?.abort(cancelled());
    else this.#discardTimer = setTimeout(() => this.#source?.abort(cancelled()), discardMilliseconds);
  }

  #timedOut(): void {
    if (this.#givesUp?.() === false) return;
    const source = this.#source;
    this.fail(
      new TransportError('Timeout', `${this.#origin}: no response within ${this.#headTimeout} ms`, {
        mayHaveBeenProcessed: source !== undefined,
      }),
    );
    source?.abort(cancelled());
  }

  #clientGone(): void {
    if (this.#state === 'over') return;
    const waiting = this.#state === 'waiting';
    const source = this.#source;
    this.#finish();
    this.#sink.release();
    if (waiting) {
      this.#reject(
        new TransportError('ClientGone', `${this.#origin}: the client went away`, {
          mayHaveBeenProcessed: source !== undefined,
        }),
      );
    }
    source?.abort(cancelled());
  }

  #finish(): void {
    this.#state = 'over';
    clearTimeout(this.#timer);
  }
}

function cancelled(): Error {
  return new Error('the exchange was cancelled');
}
