import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { Readable } from 'node:stream';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { HeldBytes } from '../../http2/sockets/held-bytes.ts';
import { auditIdHeader, auditIdOf } from '../../request/headers.ts';
import {
  type ConnectionInfo,
  type InboundRequest,
  inboundFromRequest,
  isRead,
} from '../../request/inbound.ts';
import type { RequestRecord } from '../../request/request-record.ts';
import type { GetInboundRequest } from '../../request/router.ts';
import { ExchangeEnd } from './exchange-end.ts';
import { BodySource, BodyStream } from './request-body.ts';
import type { ExpiringRequest, RequestDeadlines } from './request-deadlines.ts';
import { contentLength, type ResponseSink } from './response-sink.ts';
import { timedOutResponse } from './timed-out-response.ts';

/** What a request was received from: knows its connection. */
export type RequestCarrier = Pick<IncomingMessage, 'socket'>;

/**
 * Returns the verified client certificate of a connection. `getPeerCertificate()` alone proves nothing: with
 * `rejectUnauthorized: false` it also returns certificates that no trusted authority signed.
 */
export type ClientCertificateOf = (
  carrier: RequestCarrier,
) => Pick<ConnectionInfo, 'clientCertificate' | 'clientCertificateError'>;

/** The second argument of the fetch handler on Node. */
export interface NodeBindings {
  /** Node's own objects, for a request over HTTP/1.1. */
  readonly incoming?: IncomingMessage;
  readonly outgoing?: ServerResponse;
  readonly inbound: NodeInboundRequest;
}

export interface NodeInboundOptions {
  readonly clientCertificateOf: ClientCertificateOf;
  /** Ends what takes too long. Default: no deadlines. */
  readonly deadlines?: RequestDeadlines | undefined;
}

/** A request on Node as it was received, with its streams. */
export abstract class NodeInboundRequest implements InboundRequest, ExpiringRequest {
  readonly method: string;
  readonly target: string;
  /** Once a response has begun, only what observers read at its end. */
  headers: RawHeaders;
  readonly httpVersion: string;
  auditId: string | undefined;
  record: RequestRecord | undefined;
  readonly #options: NodeInboundOptions;
  #connection: ConnectionInfo | undefined;
  #signal: AbortSignal | undefined;
  #bodySource: BodySource | undefined;
  #end: ExchangeEnd | undefined;

  constructor(
    method: string,
    target: string,
    headers: RawHeaders,
    httpVersion: string,
    options: NodeInboundOptions,
  ) {
    this.method = method;
    this.target = target;
    this.headers = headers;
    this.httpVersion = httpVersion;
    this.#options = options;
  }

  /** Whether a body follows the head. */
  abstract get hasBody(): boolean;
  /** The body as the client sends it; for one reader. */
  protected abstract get bodyStream(): Readable;
  /** Whether the body is incomplete although its stream has ended. */
  protected abstract get isBodyCutShort(): boolean;
  /** Counts what is held for this request on its way; beyond the memory for that the exchange ends. */
  abstract get held(): HeldBytes;
  /** A sink for the response; a second try gets a new one. */
  abstract responseSink(): ResponseSink;
  /** Whether the exchange is over, complete or not. */
  abstract get isClosed(): boolean;
  protected abstract get carrier(): RequestCarrier;
  /** Whether the head of a response was written. */
  protected abstract get isResponseBegun(): boolean;
  /** Whether the whole response was written to the connection. */
  protected abstract get isResponseSent(): boolean;
  /** Calls `listener` when the exchange is over. Is called once at most. */
  protected abstract onClose(listener: () => void): void;

  get connection(): ConnectionInfo {
    if (this.#connection === undefined) {
      const { remoteAddress } = this.carrier.socket;
      const { clientCertificate, clientCertificateError } = this.#options.clientCertificateOf(this.carrier);
      this.#connection = { remoteAddress, clientCertificate, clientCertificateError };
    }
    return this.#connection;
  }

  body(): ReadableStream<Uint8Array> | null {
    const source = this.bodySource;
    if (source === undefined) return null;
    // A cancelled web stream destroys its source; with the client's own stream no response could be sent.
    return Readable.toWeb(new BodyStream(source, () => {}));
  }

  /** The body, for one reader at a time; `undefined` if there is none. */
  get bodySource(): BodySource | undefined {
    if (!this.hasBody) return undefined;
    this.#bodySource ??= new BodySource(
      () => this.bodyStream,
      () => this.isBodyCutShort,
      contentLength(this.headers),
    );
    return this.#bodySource;
  }

  keepBody(): void {
    this.bodySource?.keep();
  }

  rewindBody(): boolean {
    return this.bodySource?.rewind() ?? true;
  }

  forgetBody(): void {
    this.#bodySource?.forget();
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const controller = new AbortController();
      this.#signal = controller.signal;
      this.onFinished(() => {
        if (!this.isResponseSent) controller.abort(new Error('the client closed the connection'));
      });
    }
    return this.#signal;
  }

  limitDuration(): void {
    const { deadlines } = this.#options;
    if (deadlines !== undefined) this.onFinished(deadlines.add(this));
  }

  /** Ends the exchange, while a handler may still be working on it. */
  expire(): void {
    if (this.isClosed) return;
    this.record?.turnedAway('RequestTimeout');
    const sink = this.responseSink();
    if (this.isResponseBegun) {
      sink.breakOff(new Error('the request took longer than the request time-out'));
      return;
    }
    const { code, headers, body } = timedOutResponse(isRead(this.method) && !this.hasBody);
    const content = Buffer.from(body);
    const lines = Object.entries(headers).flat();
    lines.push('content-length', String(content.length), auditIdHeader, auditIdOf(this));
    sink.start(code, STATUS_CODES[code] ?? '', lines);
    // Before the end, with which the record is complete.
    this.record?.responded(code);
    sink.write(content);
    sink.end();
  }

  onFinished(listener: () => void): void {
    if (this.isClosed) {
      listener();
      return;
    }
    if (this.#end === undefined) {
      this.#end = new ExchangeEnd();
      this.onClose(this.#end.reached);
    }
    this.#end.add(listener);
  }
}

/**
 * Gives the core the request as it was received: `createApp({ inbound: nodeInbound, … })`. If the app is called without a
 * server (`app.fetch(new Request(…))`), it uses what the `Request` has.
 *
 * @example
 * ```ts
 * const app = createApp({ local, routingTable: receiver, transport, inbound: nodeInbound });
 * ```
 */
export const nodeInbound: GetInboundRequest = (context) => {
  const { env } = context;
  // Hono leaves `env` undefined when `fetch` is called without one.
  if (env !== undefined && 'inbound' in env && env.inbound instanceof NodeInboundRequest) return env.inbound;
  return inboundFromRequest(context.req.raw);
};
