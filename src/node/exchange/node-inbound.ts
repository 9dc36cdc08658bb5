import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Holding } from '../../../packages/http2/shared.ts';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { retryAfterSeconds, statusParts } from '../../apimachinery/status.ts';
import { auditIdHeader, auditIdOf } from '../../request/headers.ts';
import type { GetInboundRequest } from '../../request/inbound.ts';
import {
  type ConnectionInfo,
  type InboundRequest,
  inboundFromRequest,
  isRead,
  type RequestRecord,
} from '../../request/inbound.ts';
import type { Deadlines, Expiring } from './deadlines.ts';
import { BodySource, BodyStream } from './request-body.ts';
import { contentLength, type ResponseSink } from './response-sink.ts';

/** A chain: the smallest array that grows has room for seventeen. */
interface EndListener {
  readonly listener: () => void;
  next: EndListener | undefined;
}

/**
 * Calls several listeners when an exchange ends, with one listener on its stream or socket. It does not refer to the
 * request, so an open watch keeps only what the listeners need.
 */
export class ExchangeEnd {
  #first: EndListener | undefined;
  #last: EndListener | undefined;
  #isReached = false;

  /** A listener that comes too late is told at once. */
  add(listener: () => void): void {
    if (this.#isReached) {
      listener();
      return;
    }
    const added: EndListener = { listener, next: undefined };
    if (this.#last === undefined) this.#first = added;
    else this.#last.next = added;
    this.#last = added;
  }

  reached(): void {
    this.#isReached = true;
    let told = this.#first;
    this.#first = undefined;
    this.#last = undefined;
    for (; told !== undefined; told = told.next) told.listener();
  }
}

const noResponse = 'the API server that serves this resource did not respond within the allotted timeout';
const message = 'Timeout: request did not complete within the allotted timeout';

/**
 * The response to a request that took longer than `--request-timeout`: 504, as of kube-apiserver's time-out filter
 * (k8s.io/apiserver pkg/server/filters/timeout.go).
 *
 * A request that can be repeated gets 503 with Retry-After instead, as one whose server does not respond. A write may have
 * been processed, and client-go would repeat it for a Retry-After (rest/with_retry.go).
 */
export function timedOutResponse(canBeRepeated: boolean): ReturnType<typeof statusParts> {
  if (!canBeRepeated) return statusParts('Timeout', message);
  return statusParts('ServiceUnavailable', noResponse, {
    retryAfterSeconds,
    causes: [{ reason: 'Timeout', message: 'no response from the destination' }],
  });
}

export type RequestCarrier = Pick<IncomingMessage, 'socket'>;

/**
 * Returns the verified client certificate of a connection. `getPeerCertificate()` alone proves nothing: with
 * `rejectUnauthorized: false` it also returns certificates that no trusted authority signed.
 */
export type ClientCertificateOf = (
  carrier: RequestCarrier,
) => Pick<ConnectionInfo, 'clientCertificate' | 'clientCertificateError'>;

export interface NodeBindings {
  /** Node's own objects, for a request over HTTP/1.1. */
  readonly incoming?: IncomingMessage;
  readonly outgoing?: ServerResponse;
  readonly inbound: NodeInboundRequest;
}

export interface NodeInboundOptions {
  readonly clientCertificateOf: ClientCertificateOf;
  /** Ends what takes too long. Default: no deadlines. */
  readonly deadlines?: Deadlines | undefined;
}

export abstract class NodeInboundRequest implements InboundRequest, Expiring {
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
  /** Is reached when `isClosed` becomes true. */
  protected readonly end = new ExchangeEnd();
  /** Is reached when the response is whole, at the latest at the end. */
  protected readonly whole = new ExchangeEnd();
  #deadline: number | undefined;

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

  abstract get hasContent(): boolean;
  protected abstract get content(): Readable;
  protected abstract get isBodyCutShort(): boolean;
  /** Counts what is held for this request on its way; beyond the memory for that the exchange ends. */
  abstract get held(): Holding;
  abstract responseSink(): ResponseSink;
  abstract get isClosed(): boolean;
  protected abstract get carrier(): RequestCarrier;
  protected abstract get isResponseBegun(): boolean;
  abstract get isResponseSent(): boolean;

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

  get bodySource(): BodySource | undefined {
    if (!this.hasContent) return undefined;
    this.#bodySource ??= new BodySource(
      () => this.content,
      () => this.isBodyCutShort,
      contentLength(this.headers),
      this.held,
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
    if (deadlines === undefined || this.#deadline !== undefined || this.isClosed) return;
    const place = deadlines.add(this);
    this.#deadline = place;
    this.onFinished(() => deadlines.remove(this, place));
  }

  /** True if the request has a limit of time already. */
  protected get isLimited(): boolean {
    return this.#deadline !== undefined;
  }

  /** The response is whole. Who asked without a limit of time, as for a watch, has that of other requests to take it. */
  protected responseIsWhole(): void {
    this.whole.reached();
    if (!this.isClosed) this.limitDuration();
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
    const { code, headers, body } = timedOutResponse(isRead(this.method) && !this.hasContent);
    const content = Buffer.from(body);
    const lines = Object.entries(headers).flat();
    lines.push('content-length', String(content.length), auditIdHeader, auditIdOf(this));
    sink.respond(code, lines);
    // Before the end, with which the record is complete.
    this.record?.responded(code);
    sink.write(content);
    sink.end();
  }

  onFinished(listener: () => void): void {
    if (this.isClosed) listener();
    else this.end.add(listener);
  }

  onWhole(listener: () => void): void {
    if (this.isClosed) listener();
    else this.whole.add(listener);
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
export const nodeInbound: GetInboundRequest = (request, env) => {
  if (env !== undefined && 'inbound' in env && env.inbound instanceof NodeInboundRequest) return env.inbound;
  return inboundFromRequest(request);
};
