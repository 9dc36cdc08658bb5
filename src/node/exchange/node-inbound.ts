import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { auditIdHeader, auditIdOf } from '../../request/audit-id.ts';
import type { GetInboundRequest } from '../../request/handler-environment.ts';
import { type ConnectionInfo, type InboundRequest, inboundFromRequest } from '../../request/inbound.ts';
import type { ObservedRequest } from '../../request/observed-request.ts';
import type { AnswerSink } from './answer-sink.ts';
import { BodyStream } from './body-stream.ts';
import { contentLength } from './content-length.ts';
import { ExchangeEnd } from './exchange-end.ts';
import { BodySource } from './request-body.ts';
import type { Expiring, RequestDeadlines } from './request-deadlines.ts';
import { canBeRepeated } from './request-timed-out.ts';

/** What carries a request, and tells which connection it came on. */
export type RequestCarrier = Pick<IncomingMessage, 'socket'>;

/**
 * What the client certificate under a request proves. `getPeerCertificate()` alone proves nothing: with
 * `rejectUnauthorized: false` it also reports certificates that no trusted authority has signed.
 */
export type ClientCertificateOf = (
  carrier: RequestCarrier,
) => Pick<ConnectionInfo, 'clientCertificate' | 'clientCertificateError'>;

/** What the Node server hands to the fetch handler beside the web `Request`. */
export interface NodeBindings {
  /** Node's own objects, for a request by HTTP/1.1. */
  readonly incoming?: IncomingMessage;
  readonly outgoing?: ServerResponse;
  readonly inbound: NodeInboundRequest;
}

/** What a request is built with, whichever protocol it came by. */
export interface NodeInboundOptions {
  readonly clientCertificateOf: ClientCertificateOf;
  /** Default: it may take as long as it likes. */
  readonly deadlines?: RequestDeadlines | undefined;
}

/** A request on Node, as it stood on the wire, with the streams that carry it. */
export abstract class NodeInboundRequest implements InboundRequest, Expiring {
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly httpVersion: string;
  auditId: string | undefined;
  isPassedOn: boolean | undefined;
  observed: ObservedRequest | undefined;
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
  /** The body on its way from the client; read by one reader only. */
  protected abstract get bodyStream(): Readable;
  /** Whether the client took back what it had begun to send, although its stream has ended. */
  protected abstract get isBodyCutShort(): boolean;
  /** Where the answer goes; a second try gets one of its own. */
  abstract answerSink(): AnswerSink;
  /** Whether the exchange is over, well or not. */
  abstract get isClosed(): boolean;
  protected abstract get carrier(): RequestCarrier;
  protected abstract get remoteAddress(): string | undefined;
  /** Whether the answer was handed to the connection to its end. */
  protected abstract get isAnswered(): boolean;
  /** Has `listener` called when the exchange is over; called once at most. */
  protected abstract onClose(listener: () => void): void;
  /**
   * Ends an exchange that took too long (`request-timed-out.ts`).
   * @param more header lines of the answer.
   * @returns whether the client was given it.
   */
  protected abstract endTimedOut(more: Readonly<Record<string, string>>): boolean;

  get connection(): ConnectionInfo {
    if (this.#connection === undefined) {
      const { clientCertificate, clientCertificateError } = this.#options.clientCertificateOf(this.carrier);
      this.#connection = { remoteAddress: this.remoteAddress, clientCertificate, clientCertificateError };
    }
    return this.#connection;
  }

  body(): ReadableStream<Uint8Array> | null {
    const source = this.bodySource;
    if (source === undefined) return null;
    // Cancelled, the web's stream destroys what it reads from, and with the client's stream the answer would go.
    return Readable.toWeb(new BodyStream(source, () => {}));
  }

  /** The body for whoever reads it, one after the other; `undefined` when there is none. */
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
        if (!this.isAnswered) controller.abort(new Error('the client closed the connection'));
      });
    }
    return this.#signal;
  }

  limitDuration(): void {
    const { deadlines } = this.#options;
    if (deadlines === undefined) return;
    const place = deadlines.add(this);
    this.onFinished(() => deadlines.remove(this, place));
  }

  expire(): void {
    if (this.isClosed) return;
    this.observed?.dropped('RequestTimeout');
    if (!this.endTimedOut({ [auditIdHeader]: auditIdOf(this) })) return;
    this.observed?.answered(canBeRepeated(this) ? 503 : 504);
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
 * Gives the core the request as it stood on the wire: `createApp({ inbound: nodeInbound, … })`. Where the app
 * is called without a server (`app.fetch(new Request(…))`) it falls back to what `Request` still has.
 *
 * @example
 * ```ts
 * const app = createApp({ serverId, local, routingTable: receiver, transport, inbound: nodeInbound });
 * ```
 */
export const nodeInbound: GetInboundRequest = (context) => {
  const { env } = context;
  // Hono leaves `env` undefined when `fetch` is called without one.
  if (env !== undefined && 'inbound' in env && env.inbound instanceof NodeInboundRequest) return env.inbound;
  return inboundFromRequest(context.req.raw);
};
