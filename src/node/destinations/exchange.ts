import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { type ByteCounter, type OnResponseHead, TransportError } from '../../request/transport.ts';
import type { AnswerSink } from '../exchange/answer-sink.ts';
import { contentLength } from '../exchange/content-length.ts';
import { toTransportError } from './transport-errors.ts';

/** The destination's side of an exchange, once its request is being written. */
export interface AnswerSource {
  pause(): void;
  resume(): void;
  /** Gives the exchange up: resets the HTTP/2 stream, or closes the HTTP/1.1 connection. */
  abort(reason: Error): void;
}

export interface ExchangeOptions {
  readonly origin: string;
  readonly sink: AnswerSink;
  readonly onResponseHead: OnResponseHead;
  /** Milliseconds without progress until the head of the answer; 0 waits for ever. */
  readonly headTimeout: number;
  /** Asked once when they are over: on `false` waiting goes on. Default: it never does. */
  readonly givesUp?: (() => boolean) | undefined;
  /** Whether reading the request's body has begun. */
  readonly bodyOpened: () => boolean;
  /** The destination did not bring an answer that it had begun to its end: a look at it is due. */
  readonly onBrokenOff?: ((origin: string) => void) | undefined;
}

/** Bytes and milliseconds of an answer that are still taken after another one was given in its place. */
const maximumDiscarded = 64 * 1024;
const discardMilliseconds = 5_000;

/**
 * One request to one destination and what becomes of it, whichever protocol carries it: the destination's side
 * reports head, data, end and failure; the client's side drains and goes away; each event is acted on once.
 */
export class Exchange {
  /** The answer once its head is in. @throws {TransportError} */
  readonly response: Promise<Response>;
  readonly #origin: string;
  readonly #sink: AnswerSink;
  readonly #headTimeout: number;
  readonly #givesUp: (() => boolean) | undefined;
  readonly #bodyOpened: () => boolean;
  readonly #onBrokenOff: ((origin: string) => void) | undefined;
  /** Up to the head: what it holds of the request must not stay for as long as a watch is open. */
  #onResponseHead: OnResponseHead | undefined;
  readonly #resolve: (response: Response) => void;
  readonly #reject: (error: TransportError) => void;
  readonly #timer: NodeJS.Timeout | undefined;
  /** From the head on, where somebody counts. */
  #bytes: ByteCounter | undefined;
  #state: 'waiting' | 'answering' | 'over' = 'waiting';
  #source: AnswerSource | undefined;
  #discardTimer: NodeJS.Timeout | undefined;

  constructor(options: ExchangeOptions) {
    const { origin, sink, onResponseHead, headTimeout, bodyOpened, onBrokenOff } = options;
    this.#origin = origin;
    this.#sink = sink;
    this.#onResponseHead = onResponseHead;
    this.#headTimeout = headTimeout;
    this.#givesUp = options.givesUp;
    this.#bodyOpened = bodyOpened;
    this.#onBrokenOff = onBrokenOff;
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    this.response = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    // One timer for everything up to the head: queueing, connecting, sending and waiting.
    if (headTimeout > 0) this.#timer = setTimeout(() => this.#timedOut(), headTimeout);
    sink.attach(
      () => this.#source?.resume(),
      () => this.#clientGone(),
    );
  }

  /** Nobody waits for an answer any more: do not send. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  /** The request is about to be written; from here on it may have arrived. */
  started(source: AnswerSource): void {
    this.#source = source;
  }

  /** A chunk of the request's body was taken from the client: an upload in progress is no silence. */
  progressed(): void {
    this.#timer?.refresh();
  }

  /** The final head of the answer; interim ones (1xx) are the driver's to ignore. */
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
        this.#resolve(disposition.response);
        return;
      }
      const response = sink.start(status, statusMessage, disposition.headers);
      clearTimeout(this.#timer);
      this.#bytes = disposition.bytes;
      this.#state = 'answering';
      this.#resolve(response);
    } catch (error) {
      // A head that this side cannot write (bytes that HTTP does not allow) is no answer either.
      this.fail(
        new TransportError('InvalidResponse', `${this.#origin}: the head of the answer cannot be passed on`, {
          requestMayHaveArrived: true,
          cause: error,
        }),
      );
      this.#source?.abort(givenUp());
    }
  }

  data(chunk: Uint8Array): void {
    // undici's parser reports an empty chunk each time it is resumed with nothing to parse: pausing for that one
    // too, and being resumed by its reader, would go round for ever.
    if (this.#state !== 'answering' || chunk.byteLength === 0) return;
    this.#bytes?.add(chunk.byteLength);
    if (!this.#sink.write(chunk)) this.#source?.pause();
  }

  /** As `data`, of bytes that are overwritten as soon as it returns. */
  lend(chunk: Uint8Array): void {
    if (this.#state !== 'answering' || chunk.byteLength === 0) return;
    this.#bytes?.add(chunk.byteLength);
    const sink = this.#sink;
    const hasRoom = sink.lend === undefined ? sink.write(Buffer.from(chunk)) : sink.lend(chunk);
    if (!hasRoom) this.#source?.pause();
  }

  end(): void {
    clearTimeout(this.#discardTimer);
    if (this.#state !== 'answering') return;
    this.#finish();
    this.#sink.end();
    this.#sink.release();
  }

  fail(error: unknown): void {
    clearTimeout(this.#discardTimer);
    if (this.#state === 'over') return;
    const sink = this.#sink;
    const begun = this.#state === 'answering';
    this.#finish();
    sink.release();
    const failure = toTransportError(error, {
      origin: this.#origin,
      sent: this.#source !== undefined,
      bodyOpened: this.#bodyOpened(),
    });
    // Too late for a status: the client's stream breaks, so that it cannot take the part for the whole.
    if (begun) {
      sink.breakOff(failure);
      this.#onBrokenOff?.(this.#origin);
    } else this.#reject(failure);
  }

  /**
   * Gets rid of an answer that nobody is given. Reading a short one to its end keeps the HTTP/1.1 connection, whose
   * handshake is dearer. Not with a body in the request: the rest of an upload must not go on behind the answer.
   */
  #discard(headers: RawHeaders): void {
    const length = contentLength(headers);
    const isShort = length !== undefined && length <= maximumDiscarded;
    if (!isShort || this.#bodyOpened()) this.#source?.abort(givenUp());
    else this.#discardTimer = setTimeout(() => this.#source?.abort(givenUp()), discardMilliseconds);
  }

  #timedOut(): void {
    if (this.#givesUp?.() === false) return;
    const source = this.#source;
    this.fail(
      new TransportError('Timeout', `${this.#origin}: no answer within ${this.#headTimeout} ms`, {
        requestMayHaveArrived: source !== undefined,
      }),
    );
    source?.abort(givenUp());
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
          requestMayHaveArrived: source !== undefined,
        }),
      );
    }
    source?.abort(givenUp());
  }

  #finish(): void {
    this.#state = 'over';
    clearTimeout(this.#timer);
  }
}

function givenUp(): Error {
  return new Error('the exchange was given up');
}
